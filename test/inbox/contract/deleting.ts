import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import {
  addIn,
  createArrival,
  done,
  endOf,
  finishNext,
  idsOf,
  SHORT,
  signAt,
  signedAnew,
  signedAt,
  stateOf,
  STATES,
  underAnotherKey,
} from './entries.js'
import type { InboxUnderTest, Suite } from './suite.js'

/** Lets more than SHORT pass, by both clocks, since the entry ended. */
async function outlive({ inbox, advance }: InboxUnderTest, id: EntryId): Promise<void> {
  const end = await endOf(inbox, id)
  await advance(SHORT + 1)
  await signAt(inbox, end + SHORT + 1)
}

export function registerDeleting({ describe, it }: Suite): void {
  describe('when old entries are deleted', () => {
    for (const state of STATES) {
      const isPrunable = state === 'handled' || state === 'discarded'
      it(
        `${isPrunable ? 'deletes' : 'keeps'} what is ${state}`,
        async ({ inbox, advance }) => {
          const id = await addIn(state, inbox)
          const end = isPrunable ? await endOf(inbox, id) : await endOf(inbox, await addIn('handled', inbox))
          await advance(SHORT + 1)
          await signAt(inbox, end + SHORT + 1)
          if (!isPrunable) await inbox.prune({ state: 'handled', limit: 10 })
          for (const each of ['handled', 'discarded'] as const) {
            assert.equal(await inbox.prune({ state: each, limit: 10 }), each === state ? 1 : 0)
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
      await signAt(inbox, (await endOf(inbox, id)) + SHORT)
      assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 0)
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
        const end = await endOf(inbox, id)
        await advance(SHORT)
        await signAt(inbox, end + SHORT)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 0)
        assert.deepEqual(await inbox.add(repeated), { result: 'duplicate', id })
        await advance(1)
        await signAt(inbox, end + SHORT + 1)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 1)
      },
      SHORT,
    )

    it(
      'remembers no longer for exact copies, which anybody who captured one could send for ever',
      async ({ inbox, advance }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        await finishNext(inbox, 'complete')
        const end = await endOf(inbox, id)
        await advance(SHORT)
        await inbox.add(arrival)
        await advance(1)
        await signAt(inbox, end + SHORT + 1)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 1)
      },
      SHORT,
    )

    it(
      'deletes only what is older than asked',
      async ({ inbox, advance }) => {
        const early = (await inbox.add(createArrival())).id
        await finishNext(inbox, 'complete')
        await advance(10)
        const late = (await inbox.add(createArrival())).id
        await finishNext(inbox, 'complete')
        const end = await endOf(inbox, late)
        await advance(SHORT + 10)
        await signAt(inbox, end + SHORT + 10)
        assert.equal(await inbox.prune({ state: 'handled', olderThanMs: SHORT + 10, limit: 10 }), 1)
        assert.equal(await inbox.show(early), undefined)
        assert.equal(await stateOf(inbox, late), 'handled')
      },
      SHORT,
    )

    it(
      'deletes no more than the limit, oldest first',
      async ({ inbox, advance }) => {
        const ids: EntryId[] = []
        for (let i = 0; i < 3; i++) {
          ids.push((await inbox.add(createArrival())).id)
          await finishNext(inbox, 'complete')
          await advance(1)
        }
        const end = await endOf(inbox, ids.at(-1)!)
        await advance(SHORT)
        await signAt(inbox, end + SHORT + 1)
        assert.equal(await inbox.prune({ state: 'handled', limit: 2, dryRun: true }), 2)
        assert.equal((await inbox.stats()).counts.handled, 3)
        assert.equal(await inbox.prune({ state: 'handled', limit: 2 }), 2)
        assert.deepEqual(idsOf((await inbox.list({ states: ['handled'] })).entries), ids.slice(2))
      },
      SHORT,
    )

    it(
      'quarantines afterwards what was signed no later, as it may be a replay of what was deleted',
      async ({ inbox, advance }) => {
        const arrival = createArrival()
        const repeated = signedAt(signedAnew(arrival), Number(arrival.callback.signedAt) + 1000)
        const { id } = await inbox.add(arrival)
        await inbox.add(repeated)
        await finishNext(inbox, 'complete')
        await outlive({ inbox, advance }, id)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 1)
        for (const each of [arrival, repeated, underAnotherKey(signedAnew(repeated))]) {
          const again = await inbox.add(each)
          assert.deepEqual(again, { result: 'quarantined', id: again.id, why: 'forgotten' })
          assert.match(
            (await inbox.show(again.id))?.reason ?? '',
            /^ERR_TIMESTAMP_OUT_OF_TOLERANCE: forgotten/,
          )
        }
      },
      SHORT,
    )

    it(
      'stores the callback anew afterwards when it was signed later',
      async ({ inbox, advance }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        await finishNext(inbox, 'complete')
        await outlive({ inbox, advance }, id)
        await inbox.prune({ state: 'handled', limit: 10 })
        const again = await inbox.add(signedAt(signedAnew(arrival), Number(arrival.callback.signedAt) + 1))
        assert.equal(again.result, 'stored')
        assert.notEqual(again.id, id)
      },
      SHORT,
    )

    it(
      'stores what was signed no later when it was only asked what it would delete',
      async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'complete')
        await outlive({ inbox, advance }, id)
        await inbox.prune({ state: 'handled', limit: 10, dryRun: true })
        assert.equal((await inbox.add(createArrival())).result, 'stored')
      },
      SHORT,
    )

    it(
      'quarantines a copy anew afterwards',
      async ({ inbox, advance }) => {
        const suspect = createArrival({ suspicion: 'stale' })
        const { id } = await inbox.add(suspect)
        await done(inbox.act(id, 'discard', 'ann'))
        await outlive({ inbox, advance }, id)
        await inbox.prune({ state: 'discarded', limit: 10 })
        assert.equal((await inbox.add(suspect)).result, 'quarantined')
      },
      SHORT,
    )

    it(
      'keeps what was retried since',
      async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'complete')
        await outlive({ inbox, advance }, id)
        await done(inbox.act(id, 'retry', 'ann', { again: true }))
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 0)
        assert.equal(await stateOf(inbox, id), 'stored')
      },
      SHORT,
    )
  })
}
