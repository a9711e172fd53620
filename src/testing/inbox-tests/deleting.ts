import assert from 'node:assert/strict'
import {
  addIn,
  createArrival,
  done,
  finishNext,
  idsOf,
  SHORT,
  signedAnew,
  stateOf,
  STATES,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerDeleting({ describe, it }: Suite): void {
  describe('when old entries are deleted', () => {
    for (const state of STATES) {
      const isPrunable = state === 'handled' || state === 'discarded'
      it(
        `${isPrunable ? 'deletes' : 'keeps'} what is ${state}`,
        async ({ inbox, advance }) => {
          const id = await addIn(state, inbox)
          await advance(SHORT + 1)
          for (const each of ['handled', 'discarded'] as const) {
            assert.equal(await inbox.prune(each, Infinity, 10), each === state ? 1 : 0)
          }
          assert.equal((await inbox.show(id)) === undefined, isPrunable)
        },
        SHORT,
      )
    }

    it('keeps for as long as it remembers, whatever is asked', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'complete')
      await advance(SHORT)
      assert.equal(await inbox.prune('handled', Infinity, 10), 0)
      assert.equal(await stateOf(inbox, id), 'handled')
    })

    it(
      'remembers as long from a repeat that was signed anew, as that could be replayed',
      async ({ inbox, advance }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        await finishNext(inbox, 'complete')
        const repeated = signedAnew(arrival)
        await advance(SHORT)
        await inbox.add(repeated)
        await advance(SHORT)
        assert.equal(await inbox.prune('handled', Infinity, 10), 0)
        assert.deepEqual(await inbox.add(repeated), { result: 'duplicate', id })
        await advance(1)
        assert.equal(await inbox.prune('handled', Infinity, 10), 1)
      },
      SHORT,
    )

    it(
      'remembers no longer for exact copies, which a stranger could send for ever',
      async ({ inbox, advance }) => {
        const arrival = createArrival()
        await inbox.add(arrival)
        await finishNext(inbox, 'complete')
        await advance(SHORT)
        await inbox.add(arrival)
        await advance(1)
        assert.equal(await inbox.prune('handled', Infinity, 10), 1)
      },
      SHORT,
    )

    it(
      'deletes only what ended before the time',
      async ({ inbox, advance }) => {
        const early = (await inbox.add(createArrival())).id
        await finishNext(inbox, 'complete')
        await advance(10)
        const late = (await inbox.add(createArrival())).id
        await finishNext(inbox, 'complete')
        await advance(SHORT + 10)
        const { finishedAt } = (await inbox.show(late))!
        assert.equal(await inbox.prune('handled', Number(finishedAt), 10), 1)
        assert.equal(await inbox.show(early), undefined)
        assert.equal(await stateOf(inbox, late), 'handled')
      },
      SHORT,
    )

    it(
      'deletes no more than the limit, oldest first',
      async ({ inbox, advance }) => {
        const ids = []
        for (let i = 0; i < 3; i++) {
          ids.push((await inbox.add(createArrival())).id)
          await finishNext(inbox, 'complete')
          await advance(1)
        }
        await advance(SHORT)
        assert.equal(await inbox.prune('handled', Infinity, 2), 2)
        assert.deepEqual(idsOf(await inbox.list({})), ids.slice(2))
      },
      SHORT,
    )

    it(
      'stores the callback anew afterwards',
      async ({ inbox, advance }) => {
        const arrival = createArrival()
        const repeated = signedAnew(arrival)
        const { id } = await inbox.add(arrival)
        await inbox.add(repeated)
        await finishNext(inbox, 'complete')
        await advance(SHORT + 1)
        await inbox.prune('handled', Infinity, 10)
        const again = await inbox.add(repeated)
        assert.equal(again.result, 'stored')
        assert.notEqual(again.id, id)
      },
      SHORT,
    )

    it(
      'quarantines a copy anew afterwards',
      async ({ inbox, advance }) => {
        const suspect = createArrival({ suspicion: 'stale' })
        const { id } = await inbox.add(suspect)
        await done(inbox.act(id, 'discard', 'ann'))
        await advance(SHORT + 1)
        await inbox.prune('discarded', Infinity, 10)
        assert.equal((await inbox.add(suspect)).result, 'quarantined')
      },
      SHORT,
    )

    it(
      'keeps what was retried since',
      async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'complete')
        await advance(SHORT + 1)
        await done(inbox.act(id, 'retry', 'ann'))
        assert.equal(await inbox.prune('handled', Infinity, 10), 0)
        assert.equal(await stateOf(inbox, id), 'stored')
      },
      SHORT,
    )
  })
}
