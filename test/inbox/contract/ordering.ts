import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import type { ClaimEntries } from '../../../src/inbox/engine.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import { MOVES } from '../../../src/inbox/states.js'
import {
  addInOrder,
  ANY,
  beginNext,
  claimDue,
  claimNext,
  createArrival,
  done,
  EVENT_TYPE,
  finishNext,
  idsOf,
  INTERRUPTED,
  settle,
  SHORT,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerOrdering({ describe, it }: Suite): void {
  describe('with entries that share an order key', () => {
    it('gives the oldest only', async ({ inbox }) => {
      const [first] = await addInOrder(inbox, 3)
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [first])
      assert.deepEqual(await claimDue(inbox, ANY), [])
    })

    for (const move of ['complete', 'deadLetter'] as const) {
      it(`gives the next once the first is ${MOVES[move].to}`, async ({ inbox }) => {
        const [, second] = await addInOrder(inbox, 3)
        await finishNext(inbox, move)
        assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [second])
      })
    }

    it('does not give the next while the first waits for its retry', async ({ inbox, advance }) => {
      const [first] = await addInOrder(inbox, 2)
      await settle(inbox, await claimNext(inbox), { move: 'reschedule', delayMs: 200, error: 'busy' })
      assert.deepEqual(await claimDue(inbox, ANY), [])
      await advance(200)
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [first])
    })

    it('gives the first again, and not the next, when its lease is over', async ({ inbox, advance }) => {
      const [first] = await addInOrder(inbox, 2)
      await claimNext(inbox)
      await advance(SHORT)
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [first])
    })

    it('gives the next once the first was discarded', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await done(inbox.act(first!, 'discard', 'ann'))
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [second])
    })

    it('gives none that arrived after one that has no handler', async ({ inbox }) => {
      const first = await addUnhandled(inbox)
      const [second] = await addInOrder(inbox, 2)
      assert.deepEqual(await claimDue(inbox, HANDLED), [])
      assert.equal(await stateOf(inbox, first), 'unhandled')
      assert.equal((await finishNext(inbox, 'complete')).id, first)
      assert.equal((await claimNext(inbox)).id, second)
    })

    it('gives those that arrived before one that has no handler', async ({ inbox }) => {
      const ids = await addInOrder(inbox, 2)
      const third = await addUnhandled(inbox)
      await addInOrder(inbox, 1)
      for (const id of ids) {
        const [claimed] = await claimDue(inbox, HANDLED)
        assert.equal(claimed?.id, id)
        await settle(inbox, claimed, { move: 'complete' })
      }
      assert.deepEqual(await claimDue(inbox, HANDLED), [])
      assert.equal((await claimNext(inbox)).id, third)
    })

    it('gives the next once one that has no handler was discarded', async ({ inbox }) => {
      const first = await addUnhandled(inbox)
      const [second] = await addInOrder(inbox, 1)
      await done(inbox.act(first, 'discard', 'ann'))
      assert.deepEqual(idsOf(await claimDue(inbox, HANDLED)), [second])
    })

    it('gives an interrupted one before those that arrived after it', async ({ inbox, advance }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await beginNext(inbox)
      await advance(SHORT)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      const [claimed] = await claimDue(inbox, INTERRUPTED)
      assert.equal(claimed?.id, first)
      await settle(inbox, claimed!, { move: 'complete' })
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [second])
    })

    it('does not let one wait for what is in quarantine', async ({ inbox }) => {
      await inbox.add(createArrival({ orderKey: 'account 1', suspicion: 'stale' }))
      const [second] = await addInOrder(inbox, 1)
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [second])
    })

    it('gives an older one that is retried before those that wait', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await finishNext(inbox, 'deadLetter')
      await done(inbox.act(first!, 'retry', 'ann'))
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [first])
      assert.equal(await stateOf(inbox, second!), 'stored')
    })

    it('does not give an older one that is retried while a later one is running', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await finishNext(inbox, 'deadLetter')
      const claim = await claimNext(inbox)
      assert.equal(claim.id, second)
      await done(inbox.act(first!, 'retry', 'ann'))
      assert.deepEqual(await claimDue(inbox, ANY), [])
      await settle(inbox, claim, { move: 'complete' })
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [first])
    })

    it('gives those of other keys and of none at the same time', async ({ inbox }) => {
      const ids = [
        ...(await addInOrder(inbox, 1)),
        ...(await addInOrder(inbox, 1, 'account 2')),
        (await inbox.add(createArrival())).id,
        (await inbox.add(createArrival())).id,
      ]
      assert.deepEqual(new Set(idsOf(await claimDue(inbox, ANY))), new Set(ids))
    })

    it('handles all in order, whatever fails', async ({ inbox, advance }) => {
      const ids = await addInOrder(inbox, 10)
      const handled: EntryId[] = []
      for (let i = 0; handled.length < 10; i++) {
        const [claimed, ...more] = await claimDue(inbox, ANY)
        assert.deepEqual(more, [])
        if (!claimed) {
          await advance(1)
        } else if (i % 3 === 0) {
          await settle(inbox, claimed, { move: 'reschedule', delayMs: 1, error: 'busy' })
        } else {
          handled.push(claimed.id)
          await settle(inbox, claimed, { move: 'complete' })
        }
      }
      assert.deepEqual(handled, ids)
    })
  })
}

const UNHANDLED_TYPE = 'unhandled.only'
const HANDLED: ClaimEntries = { ...ANY, eventTypes: [EVENT_TYPE] }

async function addUnhandled(inbox: WholeInbox): Promise<EntryId> {
  const arrival = createArrival({ type: UNHANDLED_TYPE, orderKey: 'account 1' })
  return (await inbox.add(arrival)).id
}
