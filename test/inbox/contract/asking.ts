import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import type { InboxState } from '../../../src/inbox/states.js'
import {
  addIn,
  askForTypes,
  claimDue,
  createArrival,
  EVENT_TYPE,
  FOREIGN_IDS,
  idsOf,
  LONG,
  NO_ID,
  RECEIVED_AT,
  refusalOf,
  settle,
  SHORT,
  STATES,
  underAnotherKey,
  withAnotherBody,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerAsking({ describe, it }: Suite): void {
  describe('when asked what it holds', () => {
    it('counts the entries in each state', async ({ inbox }) => {
      for (const state of STATES) await addIn(state, inbox)
      const { counts } = await inbox.stats()
      assert.deepEqual(counts, Object.fromEntries(STATES.map((state) => [state, 1])))
    })

    it('counts nothing where nothing is', async ({ inbox }) => {
      const { counts, oldestUnfinishedAt } = await inbox.stats()
      assert.deepEqual(counts, Object.fromEntries(STATES.map((state) => [state, 0])))
      assert.equal(oldestUnfinishedAt, undefined)
    })

    it('tells when the oldest arrived that is not finished', async ({ inbox }) => {
      const times = [1000, 2000, 3000].map((ms) => new Date(RECEIVED_AT + ms))
      await inbox.add(createArrival({ type: 'unhandled.only', receivedAt: new Date(RECEIVED_AT) }))
      await askForTypes(inbox)
      for (const receivedAt of times) await inbox.add(createArrival({ receivedAt }))
      assert.deepEqual((await inbox.stats()).oldestUnfinishedAt, times[0])
      const [claimed] = await claimDue(inbox, { eventTypes: [EVENT_TYPE], limit: 1, leaseMs: LONG })
      await settle(inbox, claimed!, { move: 'complete' })
      assert.deepEqual((await inbox.stats()).oldestUnfinishedAt, times[1])
    })

    it('lists by id, page by page', async ({ inbox }) => {
      const ids = []
      for (let i = 0; i < 5; i++) ids.push((await inbox.add(createArrival())).id)
      assert.deepEqual(idsOf((await inbox.list({})).entries), ids)
      assert.deepEqual(idsOf((await inbox.list({}, { limit: 2 })).entries), ids.slice(0, 2))
      assert.deepEqual(idsOf((await inbox.list({}, { afterId: ids[1]!, limit: 2 })).entries), ids.slice(2, 4))
    })

    it('lists the newest first, page by page', async ({ inbox }) => {
      const ids: EntryId[] = []
      for (let i = 0; i < 5; i++) ids.unshift((await inbox.add(createArrival())).id)
      assert.deepEqual(idsOf((await inbox.list({}, { newestFirst: true })).entries), ids)
      assert.deepEqual(
        idsOf((await inbox.list({}, { newestFirst: true, limit: 2 })).entries),
        ids.slice(0, 2),
      )
      const next = { newestFirst: true, afterId: ids[1]!, limit: 2 }
      assert.deepEqual(idsOf((await inbox.list({}, next)).entries), ids.slice(2, 4))
    })

    it('lists those in some states', async ({ inbox }) => {
      const ids: Partial<Record<InboxState, EntryId>> = {}
      for (const state of STATES) ids[state] = await addIn(state, inbox)
      for (const state of STATES)
        assert.deepEqual(idsOf((await inbox.list({ states: [state] })).entries), [ids[state]])
      const some = (await inbox.list({ states: ['dead', 'handled'] })).entries
      assert.deepEqual(new Set(idsOf(some)), new Set([ids.dead, ids.handled]))
      assert.deepEqual((await inbox.list({ states: [] })).entries, [])
    })

    it('lists those of a type', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ type: 'a' }))
      await inbox.add(createArrival({ type: 'b' }))
      assert.deepEqual(idsOf((await inbox.list({ eventType: 'a' })).entries), [id])
    })

    it('lists those with a key, in quarantine or not', async ({ inbox }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      const { id: conflictId } = await inbox.add(withAnotherBody(arrival))
      await inbox.add(createArrival())
      const { idempotencyKey } = arrival.callback
      assert.deepEqual(idsOf((await inbox.list({ idempotencyKey })).entries), [id, conflictId])
    })

    it('lists those whose reason contains a text, in capital letters or not', async ({ inbox }) => {
      const arrival = createArrival()
      await inbox.add(arrival)
      const { id: staleId } = await inbox.add(createArrival({ suspicion: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE' }))
      const { id: conflictId } = await inbox.add(withAnotherBody(arrival))
      const { id: replayId } = await inbox.add(underAnotherKey(arrival))
      for (const [reason, id] of [
        ['ERR_TIMESTAMP_OUT_OF_TOLERANCE', staleId],
        ['timestamp_out', staleId],
        ['ERR_IDEMPOTENCY_KEY_REUSED', conflictId],
        ['conflict', conflictId],
        ['ERR_SIGNATURE_REPLAYED', replayId],
        ['Replay', replayId],
      ] as const) {
        assert.deepEqual(idsOf((await inbox.list({ reason })).entries), [id], reason)
      }
      assert.deepEqual((await inbox.list({ reason: '%' })).entries, [])
    })

    it('lists those received before, after or between times', async ({ inbox }) => {
      const ids: EntryId[] = []
      for (const ms of [10, 20, 30]) {
        ids.push((await inbox.add(createArrival({ receivedAt: new Date(RECEIVED_AT + ms) }))).id)
      }
      const after = RECEIVED_AT + 10
      const before = RECEIVED_AT + 30
      assert.deepEqual(idsOf((await inbox.list({ after })).entries), ids.slice(1))
      assert.deepEqual(idsOf((await inbox.list({ before })).entries), ids.slice(0, 2))
      assert.deepEqual(idsOf((await inbox.list({ after, before })).entries), [ids[1]])
    })

    it('lists those that fit all of a filter', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ type: 'a' }))
      await inbox.add(createArrival({ type: 'a', suspicion: 'stale' }))
      await inbox.add(createArrival({ type: 'b' }))
      assert.deepEqual(idsOf((await inbox.list({ states: ['stored'], eventType: 'a' })).entries), [id])
    })

    it('lists everything that show tells but body and history', async ({ inbox }) => {
      for (const state of STATES) await addIn(state, inbox)
      for (const summary of (await inbox.list({})).entries) {
        const { rawBody, headers, traceContext, attemptHistory, history, ...entry } = (await inbox.show(
          summary.id,
        ))!
        assert.deepEqual(summary, entry)
      }
    })

    it('finds no entry by an id that it has not made', async ({ inbox }) => {
      await inbox.add(createArrival())
      for (const id of FOREIGN_IDS) {
        assert.equal(await inbox.show(id), undefined)
        assert.deepEqual(await inbox.related(id), [])
        assert.equal(await refusalOf(inbox.act(id, 'discard', 'ann')), `there is no entry ${id}`)
        const claim = { id, token: 1 }
        assert.deepEqual(await inbox.begin([claim], SHORT), new Set())
        assert.deepEqual(await inbox.extend([claim], SHORT), new Set())
        assert.equal(await settle(inbox, claim, { move: 'complete' }), false)
      }
      assert.equal((await inbox.stats()).counts.stored, 1)
    })

    it('lists nothing after an id that it cannot have made', async ({ inbox }) => {
      await inbox.add(createArrival())
      assert.deepEqual((await inbox.list({}, { afterId: NO_ID })).entries, [])
      assert.deepEqual((await inbox.list({}, { afterId: NO_ID, newestFirst: true })).entries, [])
    })
  })
}
