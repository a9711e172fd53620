import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import type { EventTypes } from '../../../src/inbox/engine.js'
import { MOVES } from '../../../src/inbox/states.js'
import {
  addInOrder,
  ANY,
  beginNext,
  claimDue,
  claimNext,
  createArrival,
  EVENT_TYPE,
  finishNext,
  idsOf,
  LONG,
  settle,
  SHORT,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerClaiming({ describe, it }: Suite): void {
  describe('when a worker claims', () => {
    it('gives the callback as it arrived', async ({ inbox }) => {
      const { callback, ...arrival } = createArrival()
      const { id } = await inbox.add({ ...arrival, callback })
      const claimed = await claimNext(inbox)
      assert.deepEqual(claimed.callback, callback)
      assert.equal(claimed.id, id)
    })

    it('gives the callback as it arrived, whatever the sender or a handler did with its bytes and dates', async ({
      inbox,
    }) => {
      const { callback, ...arrival } = createArrival()
      const given = {
        ...callback,
        rawBody: Buffer.from(callback.rawBody),
        signedAt: new Date(callback.signedAt),
      }
      const { id } = await inbox.add({ ...arrival, callback: given })
      given.rawBody.fill(0)
      given.signedAt.setTime(0)
      const claimed = await claimNext(inbox)
      assert.deepEqual(claimed.callback, callback)
      claimed.callback.rawBody.fill(0)
      claimed.callback.signedAt.setTime(0)
      await settle(inbox, claimed, { move: 'reschedule', delayMs: 0, error: 'no' })
      const shown = await inbox.show(id)
      assert.deepEqual(shown?.rawBody, callback.rawBody)
      shown.rawBody.fill(0)
      shown.signedAt.setTime(0)
      assert.deepEqual((await claimNext(inbox)).callback, callback)
    })

    it('says when the next entry is due', async ({ inbox, advance }) => {
      for (let i = 0; i < 2; i++) await inbox.add(createArrival())
      const { entries, nextDueInMs: whenFull, moreIsDue } = await inbox.claim({ ...ANY, limit: 2 })
      assert.equal(whenFull !== undefined && whenFull > 0, moreIsDue === false)
      for (const [index, delayMs] of [300, 200].entries())
        await settle(inbox, entries[index]!, { move: 'reschedule', delayMs, error: 'busy' })
      await advance(100)
      const { nextDueInMs } = await inbox.claim(ANY)
      // An inbox without a clock of its own has waited, and may have waited a little longer.
      assert.ok(nextDueInMs !== undefined && nextDueInMs <= 100 && nextDueInMs > 0, `${nextDueInMs}`)
    })

    it('says whether more is due than the limit, or leaves that out', async ({ inbox, advance }) => {
      const moreIsDue = async (limit: number, eventTypes: EventTypes = 'any') => {
        const claims = await inbox.claim({ ...ANY, limit, eventTypes })
        assert.ok(claims.entries.length <= limit)
        return claims.moreIsDue
      }
      const saysSo = (await moreIsDue(0)) !== undefined
      const expected = (isDue: boolean) => (saysSo ? isDue : undefined)
      await inbox.add(createArrival({ suspicion: 'stale' }))
      await inbox.add(createArrival({ type: 'a' }))
      await beginNext(inbox)
      await advance(SHORT)
      assert.equal(await moreIsDue(0), expected(false))
      for (const type of ['a', 'b', 'a']) await inbox.add(createArrival({ type }))
      assert.equal(await moreIsDue(0), expected(true))
      assert.equal(await moreIsDue(2, ['a']), expected(false))
      assert.equal(await moreIsDue(0, ['a']), expected(false))
      assert.equal(await moreIsDue(1), expected(false))
      await addInOrder(inbox, 2)
      assert.equal(await moreIsDue(1), expected(false))
    })

    it('says nothing of when entries are due that it would not give', async ({ inbox }) => {
      assert.equal((await inbox.claim(ANY)).nextDueInMs, undefined)
      await inbox.add(createArrival({ type: 'other' }))
      await inbox.add(createArrival({ suspicion: 'stale' }))
      assert.equal((await inbox.claim({ ...ANY, eventTypes: [EVENT_TYPE] })).nextDueInMs, undefined)
      await addInOrder(inbox, 2)
      await inbox.claim({ ...ANY, leaseMs: LONG })
      const { entries, nextDueInMs } = await inbox.claim(ANY)
      assert.deepEqual(entries, [])
      // An entry that waits for an older one is not due: only the leases are.
      assert.ok(nextDueInMs! > SHORT, `${nextDueInMs}`)
    })

    it('does not call a first handling replayed', async ({ inbox }) => {
      await inbox.add(createArrival())
      assert.equal((await claimNext(inbox)).replayed, false)
    })

    it('gives the oldest first', async ({ inbox, advance }) => {
      const ids = []
      for (let i = 0; i < 3; i++) {
        ids.push((await inbox.add(createArrival())).id)
        await advance(1)
      }
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), ids)
    })

    it('gives no more than the limit', async ({ inbox }) => {
      for (let i = 0; i < 3; i++) await inbox.add(createArrival())
      assert.equal((await claimDue(inbox, { ...ANY, limit: 2 })).length, 2)
      assert.equal((await claimDue(inbox, { ...ANY, limit: 2 })).length, 1)
    })

    it('gives only what is of these types', async ({ inbox, advance }) => {
      const ids: Record<string, EntryId> = {}
      for (const type of ['a', 'b', 'c']) {
        ids[type] = (await inbox.add(createArrival({ type }))).id
        await advance(1)
      }
      assert.deepEqual(idsOf(await claimDue(inbox, { ...ANY, eventTypes: ['c', 'a'] })), [ids['a'], ids['c']])
      assert.deepEqual(idsOf(await claimDue(inbox, { ...ANY, eventTypes: [] })), [])
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [ids['b']])
    })

    it('gives the oldest of several types within the limit', async ({ inbox, advance }) => {
      const ids = []
      for (const type of ['b', 'a', 'b', 'a']) {
        ids.push((await inbox.add(createArrival({ type }))).id)
        await advance(1)
      }
      const claimed = await claimDue(inbox, { eventTypes: ['a', 'b'], limit: 3, leaseMs: SHORT })
      assert.deepEqual(idsOf(claimed), ids.slice(0, 3))
    })

    it('gives an entry once, also if its type is among the types twice', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ type: 'a' }))
      const claimed = await claimDue(inbox, { ...ANY, eventTypes: ['a', 'b', 'a'] })
      assert.deepEqual(idsOf(claimed), [id])
      const begun = await inbox.begin(claimed, SHORT)
      assert.deepEqual(begun, new Set([id]))
    })

    it('gives an entry to exactly one of many workers', async ({ inbox }) => {
      for (let i = 0; i < 50; i++) await inbox.add(createArrival())
      const claims = await Promise.all(
        Array.from({ length: 20 }, () => claimDue(inbox, { ...ANY, limit: 10 })),
      )
      const ids = claims.flatMap(idsOf)
      assert.equal(ids.length, 50)
      assert.equal(new Set(ids).size, 50)
    })

    it('does not give what is running before its lease is over', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await claimDue(inbox, { ...ANY, leaseMs: LONG })
      await advance(SHORT)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      assert.equal(await stateOf(inbox, id), 'running')
    })

    it('gives what is running again once its lease is over', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const first = await claimNext(inbox)
      await advance(SHORT)
      const second = await claimNext(inbox)
      assert.equal(second.id, id)
      assert.ok(second.token > first.token)
    })

    for (const move of ['complete', 'deadLetter'] as const) {
      it(`does not give what is ${MOVES[move].to}`, async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, move)
        await advance(LONG)
        assert.deepEqual(await claimDue(inbox, ANY), [])
        assert.equal(await stateOf(inbox, id), MOVES[move].to)
      })
    }

    it('does not give what is in quarantine', async ({ inbox }) => {
      await inbox.add(createArrival({ suspicion: 'stale' }))
      assert.deepEqual(await claimDue(inbox, ANY), [])
    })
  })
}
