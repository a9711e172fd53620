import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import type { EntryFilter, EntryPage } from '../../../src/inbox/operations.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import {
  addIn,
  CALLBACK_URL,
  claimNext,
  createArrival,
  done,
  endOf,
  EVENT_TYPE,
  finishNext,
  idsOf,
  NO_ID,
  PLAIN_SUBSCRIPTION,
  RECEIVED_AT,
  STATES,
  withAnotherBody,
} from './entries.js'
import type { Suite } from './suite.js'

/** All that a search finds, page by page. */
async function searched(inbox: WholeInbox, filter: EntryFilter, page: EntryPage = {}): Promise<EntryId[]> {
  const ids: EntryId[] = []
  for (let afterId = page.afterId; ;) {
    const { entries, next } = await inbox.list(filter, { ...page, afterId })
    assert.ok(entries.length <= (page.limit ?? 100))
    ids.push(...idsOf(entries))
    if (next === undefined) return ids
    assert.notEqual(next, afterId, 'the search does not go on')
    afterId = next
  }
}

const TRACE_CONTEXT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\nvendor=1'

export function registerSearching({ describe, it }: Suite): void {
  describe('of what arrives with a callback', () => {
    it('shows the headers, the Id of the body and the trace context', async ({ inbox }) => {
      const headers = {
        pairs: [
          ['Host', 'partner.example.com'],
          ['X-Odd', 'a "quote", \\ and \u00ff \u0000'],
        ],
        isCut: true,
      } as const
      const { id } = await inbox.add(
        createArrival({ headers, bodyId: 'transfer 1', traceContext: TRACE_CONTEXT }),
      )
      const entry = (await inbox.show(id))!
      assert.deepEqual(entry.headers, headers)
      assert.equal(entry.bodyId, 'transfer 1')
      assert.equal(entry.traceContext, TRACE_CONTEXT)
      assert.equal((await claimNext(inbox)).callback.traceContext, TRACE_CONTEXT)
    })

    it('shows none of what an arrival does not have', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const { headers, bodyId, traceContext } = (await inbox.show(id))!
      assert.deepEqual([headers, bodyId, traceContext], [undefined, undefined, undefined])
      assert.ok(!('traceContext' in (await claimNext(inbox)).callback))
    })

    it('shows them of what is in quarantine as well', async ({ inbox }) => {
      const headers = { pairs: [['Host', 'partner.example.com']], isCut: false } as const
      const parts = { headers, bodyId: 'transfer 1', traceContext: TRACE_CONTEXT }
      const { id } = await inbox.add(createArrival({ ...parts, suspicion: 'stale' }))
      const shown = (await inbox.show(id))!
      assert.deepEqual(
        { headers: shown.headers, bodyId: shown.bodyId, traceContext: shown.traceContext },
        parts,
      )
    })

    it('finds entries by the Id of the body, which identifies no callback', async ({ inbox }) => {
      const arrival = createArrival({ bodyId: 'transfer 1' })
      const { id } = await inbox.add(arrival)
      const { id: otherId } = await inbox.add(createArrival({ bodyId: 'transfer 1' }))
      const { id: conflictId } = await inbox.add(withAnotherBody(arrival))
      await inbox.add(createArrival({ bodyId: 'transfer 2' }))
      await inbox.add(createArrival())
      assert.deepEqual(idsOf((await inbox.list({ bodyId: 'transfer 1' })).entries), [id, otherId, conflictId])
      assert.deepEqual(idsOf((await inbox.list({ bodyId: 'transfer 1', states: ['quarantined'] })).entries), [
        conflictId,
      ])
      assert.deepEqual(await searched(inbox, { bodyId: 'Transfer 1' }), [])
    })

    it('finds entries by the id of their subscription', async ({ inbox }) => {
      const { id: tenant } = await inbox.add(createArrival())
      const { id: plain } = await inbox.add(createArrival({ subscription: PLAIN_SUBSCRIPTION }))
      for (const [subscriptionId, ids] of [
        ['tenant-1', [tenant]],
        [`${EVENT_TYPE} ${CALLBACK_URL}`, [plain]],
        ['tenant-2', []],
      ] as const) {
        assert.deepEqual(idsOf((await inbox.list({ subscriptionId })).entries), ids)
        assert.deepEqual(await searched(inbox, { subscriptionId }), ids)
      }
    })
  })

  describe('when searched', () => {
    for (const newestFirst of [false, true])
      it(`finds what it lists, ${newestFirst ? 'newest' : 'oldest'} first and by pages of any size`, async ({
        inbox,
      }) => {
        for (const state of STATES) await addIn(state, inbox)
        const arrival = createArrival({ bodyId: 'transfer 1', receivedAt: new Date(RECEIVED_AT + 10) })
        await inbox.add(arrival)
        await inbox.add(withAnotherBody(arrival))
        const filters: EntryFilter[] = [
          {},
          ...STATES.map((state) => ({ states: [state] })),
          { states: [] },
          { states: ['dead', 'handled', 'unhandled'] },
          { states: ['dead', 'quarantined', 'stored', 'discarded'] },
          { states: ['running', 'unhandled'] },
          { eventType: 'dead.only' },
          { eventType: EVENT_TYPE, states: ['stored', 'quarantined'] },
          { reason: 'account' },
          { reason: 'stale', states: ['quarantined'] },
          { idempotencyKey: arrival.callback.idempotencyKey },
          { bodyId: 'transfer 1' },
          { bodyId: 'transfer 1', states: ['quarantined'] },
          { subscriptionId: 'tenant-1', states: ['dead', 'stored'] },
          { after: RECEIVED_AT },
          { before: RECEIVED_AT + 10 },
          { after: RECEIVED_AT, before: RECEIVED_AT + 11, eventType: EVENT_TYPE },
          { after: RECEIVED_AT, before: RECEIVED_AT, states: ['dead'] },
        ]
        for (const filter of filters) {
          const listed = idsOf((await inbox.list(filter, { newestFirst })).entries)
          for (const limit of [1, 2])
            assert.deepEqual(
              await searched(inbox, filter, { newestFirst, limit }),
              listed,
              JSON.stringify(filter),
            )
          // A page that is not full.
          const afterId = listed[0]
          if (afterId !== undefined)
            assert.deepEqual(await searched(inbox, filter, { newestFirst, afterId }), listed.slice(1))
          const { count, more } = await inbox.count(filter, 100)
          assert.deepEqual({ count, more }, { count: listed.length, more: false }, JSON.stringify(filter))
        }
      })

    it('takes times as dates and as milliseconds', async ({ inbox }) => {
      for (const ms of [0, 10, 20]) await inbox.add(createArrival({ receivedAt: new Date(RECEIVED_AT + ms) }))
      const [after, before] = [RECEIVED_AT + 5, RECEIVED_AT + 15]
      const found = await inbox.list({ after, before })
      assert.equal(found.entries.length, 1)
      const dates = { after: new Date(after), before: new Date(before) }
      assert.deepEqual(await inbox.list(dates), found)
      assert.deepEqual(await inbox.count(dates, 10), { count: 1, more: false })
    })

    it('finds nothing after an id that it cannot have made', async ({ inbox }) => {
      await inbox.add(createArrival())
      assert.deepEqual(await inbox.list({}, { afterId: NO_ID }), { entries: [] })
    })

    it('counts no further than asked', async ({ inbox }) => {
      for (let i = 0; i < 3; i++) await inbox.add(createArrival())
      assert.deepEqual(await inbox.count({}, 2), { count: 2, more: true })
      assert.deepEqual(await inbox.count({}, 3), { count: 3, more: false })
      assert.deepEqual(await inbox.count({ eventType: 'none' }, 1), { count: 0, more: false })
    })
  })

  describe('when asked what ended', () => {
    it('counts by outcome and time', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'complete')
      const from = await endOf(inbox, id)
      await inbox.add(createArrival())
      await advance(50)
      const { id: dead } = await inbox.add(createArrival())
      await finishNext(inbox, 'complete')
      await finishNext(inbox, 'deadLetter')
      const { id: discarded } = await inbox.add(createArrival())
      await done(inbox.act(discarded, 'discard', 'ann'))
      const last = Math.max(await endOf(inbox, dead), await endOf(inbox, discarded))
      const bucketMs = Math.ceil((last + 1 - from) / 2)
      const activity = await inbox.activity({ from, to: last + 1, bucketMs })
      assert.deepEqual(
        activity.map(({ at }) => Number(at)),
        [from, from + bucketMs],
      )
      const sum = (name: 'handled' | 'dead' | 'discarded' | 'quarantined') =>
        activity.reduce((total, bucket) => total + bucket[name], 0)
      assert.deepEqual([sum('handled'), sum('dead'), sum('discarded'), sum('quarantined')], [2, 1, 1, 0])
      assert.equal(activity[0]!.handled, 1)
      const dates = { from: new Date(from), to: new Date(last + 1) }
      assert.deepEqual(await inbox.activity({ ...dates, bucketMs }), activity)
      // The end of the range is not part of it.
      const before = await inbox.activity({ from: from - 10, to: from, bucketMs: 10 })
      assert.deepEqual(before, [
        { at: new Date(from - 10), handled: 0, dead: 0, discarded: 0, quarantined: 0 },
      ])
    })

    it('counts what is in quarantine by the time of its arrival', async ({ inbox }) => {
      for (const ms of [0, 10, 19, 20]) {
        await inbox.add(createArrival({ suspicion: 'stale', receivedAt: new Date(RECEIVED_AT + ms) }))
      }
      const activity = await inbox.activity({ from: RECEIVED_AT, to: RECEIVED_AT + 25, bucketMs: 10 })
      assert.deepEqual(
        activity.map(({ quarantined }) => quarantined),
        [1, 2, 1],
      )
    })

    it('refuses a range that makes no sense, and too many parts', async ({ inbox }) => {
      const from = RECEIVED_AT
      for (const request of [
        { from, to: from, bucketMs: 1 },
        { from, to: from + 1, bucketMs: 0 },
        { from, to: from + 10, bucketMs: 0.5 },
        { from: Number.NaN, to: from, bucketMs: 1 },
        { from: new Date(Number.NaN), to: from, bucketMs: 1 },
        { from, to: from + 1_001, bucketMs: 1 },
      ])
        await assert.rejects(inbox.activity(request), { code: 'ERR_OPTION_INVALID' })
      assert.equal((await inbox.activity({ from, to: from + 1_000, bucketMs: 1 })).length, 1_000)
    })
  })
}
