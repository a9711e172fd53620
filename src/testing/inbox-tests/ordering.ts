import assert from 'node:assert/strict'
import { MOVES } from '../../inbox/states.js'
import {
  addInOrder,
  ANY,
  claimNext,
  createArrival,
  done,
  finishNext,
  idsOf,
  SHORT,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerOrdering({ describe, it }: Suite): void {
  describe('with entries that share an order key', () => {
    it('gives the oldest only', async ({ inbox }) => {
      const [first] = await addInOrder(inbox, 3)
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [first])
      assert.deepEqual(await inbox.claim(ANY), [])
    })

    for (const move of ['complete', 'giveUp', 'setAside'] as const) {
      it(`gives the next once the first is ${MOVES[move].to}`, async ({ inbox }) => {
        const [, second] = await addInOrder(inbox, 3)
        await finishNext(inbox, move)
        assert.deepEqual(idsOf(await inbox.claim(ANY)), [second])
      })
    }

    it('does not give the next while the first waits for its retry', async ({ inbox, advance }) => {
      const [first] = await addInOrder(inbox, 2)
      await inbox.finish(await claimNext(inbox), { move: 'reschedule', delayMs: 200, error: 'busy' })
      assert.deepEqual(await inbox.claim(ANY), [])
      await advance(200)
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [first])
    })

    it('gives the first again, and not the next, when its lease is over', async ({ inbox, advance }) => {
      const [first] = await addInOrder(inbox, 2)
      await claimNext(inbox)
      await advance(SHORT)
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [first])
    })

    it('gives the next once the first was discarded', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await done(inbox.act(first!, 'discard', 'ann'))
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [second])
    })

    it('does not let one wait for what has no handler', async ({ inbox }) => {
      await inbox.add(createArrival({ orderKey: 'account 1', hasHandler: false }))
      const [second] = await addInOrder(inbox, 1)
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [second])
    })

    it('does not let one wait for what is in quarantine', async ({ inbox }) => {
      await inbox.add(createArrival({ orderKey: 'account 1', suspicion: 'stale' }))
      const [second] = await addInOrder(inbox, 1)
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [second])
    })

    it('gives an older one that is retried before those that wait', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await finishNext(inbox, 'giveUp')
      await done(inbox.act(first!, 'retry', 'ann'))
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [first])
      assert.equal(await stateOf(inbox, second!), 'stored')
    })

    it('does not give an older one that is retried while a later one is running', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await finishNext(inbox, 'giveUp')
      const claim = await claimNext(inbox)
      assert.equal(claim.id, second)
      await done(inbox.act(first!, 'retry', 'ann'))
      assert.deepEqual(await inbox.claim(ANY), [])
      await inbox.finish(claim, { move: 'complete' })
      assert.deepEqual(idsOf(await inbox.claim(ANY)), [first])
    })

    it('gives the oldest first of those that have a handler now', async ({ inbox }) => {
      const orderKey = 'account 1'
      const { id: first } = await inbox.add(createArrival({ orderKey, hasHandler: false }))
      const { id: second } = await inbox.add(createArrival({ orderKey, hasHandler: false }))
      await inbox.adopt('any')
      assert.equal((await finishNext(inbox, 'complete')).id, first)
      assert.equal((await finishNext(inbox, 'complete')).id, second)
    })

    it('gives those of other keys and of none at the same time', async ({ inbox }) => {
      const ids = [
        ...(await addInOrder(inbox, 1)),
        ...(await addInOrder(inbox, 1, 'account 2')),
        (await inbox.add(createArrival())).id,
        (await inbox.add(createArrival())).id,
      ]
      assert.deepEqual(new Set(idsOf(await inbox.claim(ANY))), new Set(ids))
    })

    it('handles all in order, whatever fails', async ({ inbox, advance }) => {
      const ids = await addInOrder(inbox, 10)
      const handled: number[] = []
      for (let i = 0; handled.length < 10; i++) {
        const [claim, ...more] = await inbox.claim(ANY)
        assert.deepEqual(more, [])
        if (!claim) {
          await advance(1)
        } else if (i % 3 === 0) {
          await inbox.finish(claim, { move: 'reschedule', delayMs: 1, error: 'busy' })
        } else {
          handled.push(claim.id)
          await inbox.finish(claim, { move: 'complete' })
        }
      }
      assert.deepEqual(handled, ids)
    })
  })
}
