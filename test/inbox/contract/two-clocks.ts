import assert from 'node:assert/strict'
import {
  addIn,
  claimNext,
  createArrival,
  endOf,
  finishNext,
  SHORT,
  settle,
  signAt,
  signedAnew,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerTwoClocks({ describe, it }: Suite): void {
  describe('when the clock of this machine is wrong', () => {
    for (const state of ['handled', 'discarded'] as const) {
      it(
        `keeps what is ${state} until the service has signed as late a time`,
        async ({ inbox, advance }) => {
          const end = await endOf(inbox, await addIn(state, inbox))
          await advance(4 * SHORT)
          assert.equal(await inbox.prune({ state, limit: 10 }), 0)
          await signAt(inbox, end + SHORT)
          assert.equal(await inbox.prune({ state, limit: 10 }), 0)
          await signAt(inbox, end + SHORT + 1)
          assert.equal(await inbox.prune({ state, limit: 10 }), 1)
        },
        SHORT,
      )
    }

    it(
      'measures the age also by the times that the service has signed',
      async ({ inbox, advance }) => {
        const end = await endOf(inbox, await addIn('discarded', inbox))
        await advance(4 * SHORT)
        await signAt(inbox, end + 3 * SHORT)
        const request = { state: 'discarded', limit: 10 } as const
        assert.equal(await inbox.prune({ ...request, olderThanMs: 3 * SHORT }), 0)
        assert.equal(await inbox.prune({ ...request, olderThanMs: 2 * SHORT }), 1)
      },
      SHORT,
    )

    it(
      'is not misled by a time that was far in the future when it arrived',
      async ({ inbox, advance }) => {
        const end = await endOf(inbox, await addIn('handled', inbox))
        await signAt(inbox, end + 3 * SHORT, end)
        await advance(4 * SHORT)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 0)
      },
      SHORT,
    )

    it(
      'keeps what was signed later than it ended, as when the clock was behind',
      async ({ inbox, advance }) => {
        const now = await endOf(inbox, await addIn('discarded', inbox))
        const signedAt = new Date(now + 2 * SHORT)
        const { id } = await inbox.add(createArrival({ signedAt, receivedAt: new Date(now) }))
        await finishNext(inbox, 'complete')
        await advance(4 * SHORT)
        await signAt(inbox, now + 3 * SHORT)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 0)
        assert.equal(await stateOf(inbox, id), 'handled')
        await signAt(inbox, now + 3 * SHORT + 1)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 1)
      },
      SHORT,
    )

    it(
      'keeps what was repeated before it ended with a signature of a later time',
      async ({ inbox, advance }) => {
        const now = await endOf(inbox, await addIn('discarded', inbox))
        const arrival = createArrival({ signedAt: new Date(now), receivedAt: new Date(now) })
        await inbox.add(arrival)
        const claim = await claimNext(inbox)
        const { callback, ...repeated } = signedAnew(arrival)
        await inbox.add({ ...repeated, callback: { ...callback, signedAt: new Date(now + 2 * SHORT) } })
        await settle(inbox, claim, { move: 'complete' })
        await advance(4 * SHORT)
        await signAt(inbox, now + 3 * SHORT)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 0)
        await signAt(inbox, now + 3 * SHORT + 1)
        assert.equal(await inbox.prune({ state: 'handled', limit: 10 }), 1)
      },
      SHORT,
    )
  })
}
