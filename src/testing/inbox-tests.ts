import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import type { VerifiedCallback } from '../callback.js'
import type { Arrival, ClaimedEntry, ClaimEntries, EntrySummary, Inbox } from '../inbox/inbox.js'
import { MOVES, type InboxState } from '../inbox/states.js'
import { globalFramework, type TestFramework } from './test-framework.js'

export interface InboxUnderTest {
  /** An inbox that holds nothing of another test, not opened yet; its `retentionMs` is the one that was asked for. */
  readonly inbox: Inbox
  /** Moves the inbox's time on by so many milliseconds, or waits for as long. */
  readonly advance: (ms: number) => Promise<void> | void
}

/**
 * Registers the tests that every `Inbox` must pass.
 *
 * `createInbox` is called once for each test; the inbox is opened before it and closed after it. An inbox without a
 * clock of its own may really wait in `advance`: all waits together take less than a minute.
 */
export function registerInboxTests(
  createInbox: (context: { retentionMs: number }) => Promise<InboxUnderTest> | InboxUnderTest,
  framework: TestFramework = globalFramework('registerInboxTests'),
): void {
  const { describe } = framework

  const it = (name: string, test: (subject: InboxUnderTest) => Promise<void>, retentionMs = LONG) =>
    framework.it(name, async () => {
      const subject = await createInbox({ retentionMs })
      await subject.inbox.open()
      try {
        await test(subject)
      } finally {
        await subject.inbox.close()
      }
    })

  describe('an inbox', () => {
    it('tells how long it remembers', async ({ inbox }) => {
      assert.equal(inbox.retentionMs, LONG)
    })

    it('can be opened twice', async ({ inbox }) => {
      await inbox.open()
      assert.equal((await inbox.add(createArrival())).result, 'stored')
    })

    it('can be closed twice', async ({ inbox }) => {
      await inbox.close()
      await inbox.close()
    })

    describe('when a callback arrives', () => {
      it('stores one that is new', async ({ inbox }) => {
        const { id, result } = await inbox.add(createArrival())
        assert.equal(result, 'stored')
        assert.equal(await stateOf(inbox, id), 'stored')
      })

      it('keeps all that is known of it', async ({ inbox }) => {
        const { callback, ...arrival } = createArrival({ rawBody: Buffer.from([0, 255, 10, 13, 128]) })
        const { id } = await inbox.add({ ...arrival, callback })
        const entry = await inbox.show(id)
        assert.deepEqual(
          {
            type: entry?.eventType,
            idempotencyKey: entry?.idempotencyKey,
            signedAt: entry?.signedAt,
            receivedAt: entry?.receivedAt,
            rawBody: entry?.rawBody,
            subscription: entry?.subscription,
          },
          callback,
        )
      })

      it('keeps an empty body', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ rawBody: Buffer.alloc(0) }))
        assert.deepEqual((await inbox.show(id))?.rawBody, Buffer.alloc(0))
      })

      it('keeps a body of a megabyte', async ({ inbox }) => {
        const rawBody = Buffer.alloc(1_048_576, 'countersign')
        const { id } = await inbox.add(createArrival({ rawBody }))
        assert.equal((await inbox.show(id))?.rawBody.equals(rawBody), true)
      })

      it('keeps one whose subscription has no description', async ({ inbox }) => {
        const subscription = { eventTypeName: EVENT_TYPE, callbackUrl: CALLBACK_URL }
        const { id } = await inbox.add(createArrival({ subscription }))
        assert.deepEqual((await inbox.show(id))?.subscription, subscription)
      })

      it('sets aside one of a type that has no handler', async ({ inbox }) => {
        const { id, result } = await inbox.add(createArrival({ hasHandler: false }))
        assert.equal(result, 'unhandled')
        assert.equal(await stateOf(inbox, id), 'unhandled')
        assert.deepEqual(await inbox.claim(ANY), [])
      })

      it('says duplicate to one that is stored', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
      })

      for (const move of ['complete', 'giveUp', 'setAside', 'reschedule'] as const) {
        it(`says duplicate to one that is ${MOVES[move].to}`, async ({ inbox }) => {
          const arrival = createArrival()
          const { id } = await inbox.add(arrival)
          await finishNext(inbox, move)
          assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
          assert.equal(await stateOf(inbox, id), MOVES[move].to)
        })
      }

      it('says duplicate to one that is running', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        await claimNext(inbox)
        assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
      })

      it('says duplicate to one that was signed anew', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        assert.deepEqual(await inbox.add(signedAnew(arrival)), { result: 'duplicate', id })
      })

      it('counts the copies', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        await Promise.all([inbox.add(arrival), inbox.add(arrival)])
        assert.equal((await inbox.show(id))?.copies, 2)
      })

      it('stores the same key of another subscription', async ({ inbox }) => {
        const arrival = createArrival()
        await inbox.add(arrival)
        const other = createArrival({
          callback: arrival.callback,
          key: `${arrival.callback.idempotencyKey}@other`,
        })
        assert.equal((await inbox.add(other)).result, 'stored')
      })

      it('quarantines a known key with another body', async ({ inbox }) => {
        const arrival = createArrival()
        await inbox.add(arrival)
        const { id, ...added } = await inbox.add(withAnotherBody(arrival))
        assert.deepEqual(added, { result: 'quarantined', why: 'conflict' })
        assert.equal(await stateOf(inbox, id), 'quarantined')
      })

      it('quarantines a known signature under another key', async ({ inbox }) => {
        const arrival = createArrival()
        await inbox.add(arrival)
        const { id, ...added } = await inbox.add(underAnotherKey(arrival))
        assert.deepEqual(added, { result: 'quarantined', why: 'replay' })
        assert.equal(await stateOf(inbox, id), 'quarantined')
      })

      it('quarantines under another key the signature of a repeat that was signed anew', async ({
        inbox,
      }) => {
        const arrival = createArrival()
        const repeat = signedAnew(arrival)
        await inbox.add(arrival)
        await inbox.add(repeat)
        const { result } = await inbox.add(underAnotherKey(repeat))
        assert.equal(result, 'quarantined')
      })

      it('quarantines a known key and body with the signature of another entry', async ({ inbox }) => {
        const arrival = createArrival()
        const other = createArrival()
        await inbox.add(arrival)
        await inbox.add(other)
        const { id, ...added } = await inbox.add({ ...arrival, signature: other.signature })
        assert.deepEqual(added, { result: 'quarantined', why: 'replay' })
      })

      it('says conflict where replay is true as well', async ({ inbox }) => {
        const arrival = createArrival()
        const other = createArrival()
        await inbox.add(arrival)
        await inbox.add(other)
        const { id, ...added } = await inbox.add({
          ...other,
          callback: { ...other.callback, idempotencyKey: arrival.callback.idempotencyKey },
          key: arrival.key,
        })
        assert.deepEqual(added, { result: 'quarantined', why: 'conflict' })
      })

      it('quarantines one that is suspect, and says why', async ({ inbox }) => {
        const { id, ...added } = await inbox.add(createArrival({ suspicion: 'signed three days ago' }))
        assert.deepEqual(added, { result: 'quarantined', why: 'suspicion' })
        assert.equal((await inbox.show(id))?.reason, 'signed three days ago')
      })

      it('quarantines a suspect one of a type that has no handler', async ({ inbox }) => {
        const { result } = await inbox.add(createArrival({ suspicion: 'stale', hasHandler: false }))
        assert.equal(result, 'quarantined')
      })

      it('says duplicate to a suspect one that is an exact copy of what is known', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        assert.deepEqual(await inbox.add({ ...arrival, suspicion: 'stale' }), { result: 'duplicate', id })
      })

      it('says duplicate to a suspect one with the signature of a repeat', async ({ inbox }) => {
        const arrival = createArrival()
        const repeat = signedAnew(arrival)
        const { id } = await inbox.add(arrival)
        await inbox.add(repeat)
        assert.deepEqual(await inbox.add({ ...repeat, suspicion: 'stale' }), { result: 'duplicate', id })
      })

      it('quarantines a suspect repeat with a signature that is new', async ({ inbox }) => {
        const arrival = createArrival()
        await inbox.add(arrival)
        const { result } = await inbox.add({ ...signedAnew(arrival), suspicion: 'stale' })
        assert.equal(result, 'quarantined')
      })

      it('keeps one suspect entry for a signature and counts the copies, whatever else differs', async ({
        inbox,
      }) => {
        const suspect = createArrival({ suspicion: 'stale' })
        const { id } = await inbox.add(suspect)
        assert.deepEqual(await inbox.add(suspect), { result: 'duplicate', id })
        assert.deepEqual(await inbox.add(underAnotherKey(suspect)), { result: 'duplicate', id })
        assert.equal((await inbox.show(id))?.copies, 2)
        assert.equal((await inbox.stats()).quarantined, 1)
      })

      it('keeps one entry for a signature that is replayed under many keys', async ({ inbox }) => {
        const arrival = createArrival()
        await inbox.add(arrival)
        for (let i = 0; i < 5; i++) await inbox.add(underAnotherKey(arrival))
        assert.equal((await inbox.stats()).quarantined, 1)
      })

      it('only counts a copy of what was discarded from quarantine', async ({ inbox }) => {
        const suspect = createArrival({ suspicion: 'stale' })
        const { id } = await inbox.add(suspect)
        await done(inbox.act(id, 'discard', 'ann'))
        assert.deepEqual(await inbox.add(suspect), { result: 'duplicate', id })
        assert.equal(await stateOf(inbox, id), 'discarded')
      })

      it('stores a genuine one whose key and signature are only in quarantine', async ({ inbox }) => {
        const arrival = createArrival()
        await inbox.add({ ...arrival, suspicion: 'event type is not the one subscribed' })
        const { id, result } = await inbox.add(arrival)
        assert.equal(result, 'stored')
        assert.equal((await claimNext(inbox)).id, id)
      })
    })

    describe('of concurrent arrivals', () => {
      it('stores one of a key', async ({ inbox }) => {
        const arrival = createArrival()
        const results = await resultsOf(inbox, repeat(100, arrival))
        assert.deepEqual(countEach(results), { stored: 1, duplicate: 99 })
      })

      it('stores one of a key when each was signed anew', async ({ inbox }) => {
        const arrival = createArrival()
        const results = await resultsOf(
          inbox,
          Array.from({ length: 100 }, () => signedAnew(arrival)),
        )
        assert.deepEqual(countEach(results), { stored: 1, duplicate: 99 })
      })

      it('stores one of a key when bodies differ', async ({ inbox }) => {
        const arrival = createArrival()
        const results = await resultsOf(
          inbox,
          Array.from({ length: 100 }, () => withAnotherBody(arrival)),
        )
        assert.deepEqual(countEach(results), { stored: 1, quarantined: 99 })
      })

      it('stores one of a signature when keys differ', async ({ inbox }) => {
        const arrival = createArrival()
        const results = await resultsOf(
          inbox,
          Array.from({ length: 100 }, () => underAnotherKey(arrival)),
        )
        assert.deepEqual(countEach(results), { stored: 1, quarantined: 1, duplicate: 98 })
      })

      it('stores all that differ', async ({ inbox }) => {
        const results = await resultsOf(
          inbox,
          Array.from({ length: 1000 }, () => createArrival()),
        )
        assert.deepEqual(countEach(results), { stored: 1000 })
        assert.equal((await inbox.stats()).stored, 1000)
      })
    })

    describe('when a worker claims', () => {
      it('gives the callback as it arrived', async ({ inbox }) => {
        const { callback, ...arrival } = createArrival()
        const { id } = await inbox.add({ ...arrival, callback })
        const claimed = await claimNext(inbox)
        assert.deepEqual(claimed.callback, callback)
        assert.equal(claimed.id, id)
      })

      it('counts the attempts from 1', async ({ inbox, advance }) => {
        await inbox.add(createArrival())
        assert.equal((await claimNext(inbox)).attempt, 1)
        await advance(SHORT)
        assert.equal((await claimNext(inbox)).attempt, 2)
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
        assert.deepEqual(idsOf(await inbox.claim(ANY)), ids)
      })

      it('gives no more than the limit', async ({ inbox }) => {
        for (let i = 0; i < 3; i++) await inbox.add(createArrival())
        assert.equal((await inbox.claim({ ...ANY, limit: 2 })).length, 2)
        assert.equal((await inbox.claim({ ...ANY, limit: 2 })).length, 1)
      })

      it('gives only what is of these types', async ({ inbox, advance }) => {
        const ids: Record<string, number> = {}
        for (const type of ['a', 'b', 'c']) {
          ids[type] = (await inbox.add(createArrival({ type }))).id
          await advance(1)
        }
        assert.deepEqual(idsOf(await inbox.claim({ ...ANY, eventTypes: ['c', 'a'] })), [ids['a'], ids['c']])
        assert.deepEqual(idsOf(await inbox.claim({ ...ANY, eventTypes: [] })), [])
        assert.deepEqual(idsOf(await inbox.claim(ANY)), [ids['b']])
      })

      it('gives the oldest of several types within the limit', async ({ inbox, advance }) => {
        const ids = []
        for (const type of ['b', 'a', 'b', 'a']) {
          ids.push((await inbox.add(createArrival({ type }))).id)
          await advance(1)
        }
        const claimed = await inbox.claim({ eventTypes: ['a', 'b'], limit: 3, leaseMs: SHORT })
        assert.deepEqual(idsOf(claimed), ids.slice(0, 3))
      })

      it('gives an entry to exactly one of many workers', async ({ inbox }) => {
        for (let i = 0; i < 50; i++) await inbox.add(createArrival())
        const claims = await Promise.all(Array.from({ length: 20 }, () => inbox.claim({ ...ANY, limit: 10 })))
        const ids = claims.flatMap(idsOf)
        assert.equal(ids.length, 50)
        assert.equal(new Set(ids).size, 50)
      })

      it('does not give what is running before its lease is over', async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        await inbox.claim({ ...ANY, leaseMs: LONG })
        await advance(SHORT)
        assert.deepEqual(await inbox.claim(ANY), [])
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

      for (const move of ['complete', 'giveUp', 'setAside'] as const) {
        it(`does not give what is ${MOVES[move].to}`, async ({ inbox, advance }) => {
          const { id } = await inbox.add(createArrival())
          await finishNext(inbox, move)
          await advance(LONG)
          assert.deepEqual(await inbox.claim(ANY), [])
          assert.equal(await stateOf(inbox, id), MOVES[move].to)
        })
      }

      it('does not give what is in quarantine', async ({ inbox }) => {
        await inbox.add(createArrival({ suspicion: 'stale' }))
        assert.deepEqual(await inbox.claim(ANY), [])
      })
    })

    describe('while an entry is claimed', () => {
      it('renews the lease from now', async ({ inbox, advance }) => {
        await inbox.add(createArrival())
        const claim = await claimNext(inbox)
        await advance(SHORT / 2)
        assert.deepEqual(await inbox.extend([claim], SHORT), new Set([claim.id]))
        await advance(SHORT / 2)
        assert.deepEqual(await inbox.claim(ANY), [])
        await advance(SHORT / 2)
        assert.equal((await claimNext(inbox)).id, claim.id)
      })

      it('tells which of several are still held', async ({ inbox, advance }) => {
        await inbox.add(createArrival({ type: 'a' }))
        await inbox.add(createArrival({ type: 'b' }))
        const claims = await inbox.claim(ANY)
        await advance(SHORT)
        await inbox.claim({ ...ANY, eventTypes: ['a'] })
        const held = claims.find(({ callback }) => callback.type === 'b')!
        assert.deepEqual(await inbox.extend(claims, SHORT), new Set([held.id]))
      })

      it('renews a lease that is over and that nobody has taken', async ({ inbox, advance }) => {
        await inbox.add(createArrival())
        const claim = await claimNext(inbox)
        await advance(SHORT)
        assert.deepEqual(await inbox.extend([claim], SHORT), new Set([claim.id]))
        assert.deepEqual(await inbox.claim(ANY), [])
      })

      it('renews nothing that has ended', async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        const claim = await finishNext(inbox, 'complete')
        assert.deepEqual(await inbox.extend([claim], SHORT), new Set())
        await advance(SHORT)
        assert.equal(await stateOf(inbox, id), 'handled')
      })

      it('renews nothing of nobody', async ({ inbox }) => {
        assert.deepEqual(await inbox.extend([], SHORT), new Set())
        assert.deepEqual(await inbox.extend([{ id: 999, token: 1 }], SHORT), new Set())
      })

      it('lets one who is late complete when nobody has taken it', async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        const claim = await claimNext(inbox)
        await advance(SHORT)
        assert.equal(await inbox.finish(claim, { move: 'complete' }), true)
        assert.equal(await stateOf(inbox, id), 'handled')
      })

      for (const move of ['complete', 'giveUp', 'setAside', 'reschedule'] as const) {
        it(`does not let one whose claim was lost ${move}`, async ({ inbox, advance }) => {
          const { id } = await inbox.add(createArrival())
          const late = await claimNext(inbox)
          await advance(SHORT)
          const claim = await claimNext(inbox)
          const before = await inbox.show(id)
          assert.equal(await inbox.finish(late, endBy(move)), false)
          assert.deepEqual(await inbox.show(id), before)
          assert.equal(await inbox.finish(claim, { move: 'complete' }), true)
        })
      }

      it('ends a claim once', async ({ inbox }) => {
        await inbox.add(createArrival())
        const claim = await finishNext(inbox, 'complete')
        assert.equal(await inbox.finish(claim, { move: 'giveUp', error: 'late' }), false)
      })

      it('lets exactly one of concurrent finishers end a claim', async ({ inbox }) => {
        await inbox.add(createArrival())
        const claim = await claimNext(inbox)
        const ended = await Promise.all(
          Array.from({ length: 20 }, () => inbox.finish(claim, { move: 'complete' })),
        )
        assert.equal(ended.filter(Boolean).length, 1)
      })
    })

    describe('when handling has ended', () => {
      it('tells when it was handled', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'complete')
        const entry = await inbox.show(id)
        assert.ok(entry?.finishedAt)
        assert.equal(entry.dueAt, undefined)
      })

      it('gives it again after the delay, and not before', async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        const claim = await claimNext(inbox)
        await inbox.finish(claim, { move: 'reschedule', delayMs: 200, error: 'timed out' })
        assert.equal(await stateOf(inbox, id), 'retrying')
        await advance(100)
        assert.deepEqual(await inbox.claim(ANY), [])
        await advance(100)
        const again = await claimNext(inbox)
        assert.equal(again.attempt, 2)
        assert.equal(again.replayed, false)
      })

      it('keeps why it failed', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await inbox.finish(await claimNext(inbox), { move: 'giveUp', error: 'account is closed' })
        assert.equal((await inbox.show(id))?.reason, 'account is closed')
      })

      it('does not count an attempt for which there was no handler', async ({ inbox }) => {
        await inbox.add(createArrival())
        await finishNext(inbox, 'setAside')
        await inbox.adopt('any')
        assert.equal((await claimNext(inbox)).attempt, 1)
      })
    })

    describe('for a type that has a handler now', () => {
      it('makes due what had none', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ hasHandler: false }))
        assert.equal(await inbox.adopt([EVENT_TYPE]), 1)
        assert.equal(await stateOf(inbox, id), 'stored')
        assert.equal((await claimNext(inbox)).id, id)
      })

      it('leaves the other types alone', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ hasHandler: false, type: 'other' }))
        assert.equal(await inbox.adopt([EVENT_TYPE]), 0)
        assert.equal(await inbox.adopt([]), 0)
        assert.equal(await stateOf(inbox, id), 'unhandled')
      })

      it('adopts every type when any has a handler', async ({ inbox }) => {
        for (const type of ['a', 'b', 'c']) await inbox.add(createArrival({ hasHandler: false, type }))
        assert.equal(await inbox.adopt('any'), 3)
      })

      it('adopts thousands', async ({ inbox }) => {
        const arrivals = Array.from({ length: 2500 }, () => createArrival({ hasHandler: false }))
        await Promise.all(arrivals.map((arrival) => inbox.add(arrival)))
        assert.equal(await inbox.adopt([EVENT_TYPE]), 2500)
        assert.equal((await inbox.stats()).stored, 2500)
      })

      it('leaves alone what is not unhandled', async ({ inbox }) => {
        await inbox.add(createArrival())
        await finishNext(inbox, 'complete')
        assert.equal(await inbox.adopt('any'), 0)
      })
    })

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

    describe('when a person retries', () => {
      it('gives a dead letter again, from attempt 1', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'giveUp')
        await done(inbox.act(id, 'retry', 'ann'))
        const claim = await claimNext(inbox)
        assert.equal(claim.id, id)
        assert.equal(claim.attempt, 1)
      })

      it('gives what was handled again, and says that it is a replay', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'complete')
        await done(inbox.act(id, 'retry', 'ann'))
        assert.equal((await inbox.show(id))?.finishedAt, undefined)
        assert.equal((await claimNext(inbox)).replayed, true)
      })

      it('gives what waits for its retry at once', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'reschedule')
        await done(inbox.act(id, 'retry', 'ann'))
        assert.equal((await claimNext(inbox)).id, id)
      })

      it('fences off the claim from before', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        const late = await finishNext(inbox, 'giveUp')
        await done(inbox.act(id, 'retry', 'ann'))
        await claimNext(inbox)
        assert.equal(await inbox.finish(late, { move: 'complete' }), false)
      })
    })

    describe('when a person releases from quarantine', () => {
      it('hands out what was released as the type that was subscribed, not as the one that its header claims', async ({
        inbox,
      }) => {
        const subscription = { eventTypeName: EVENT_TYPE, callbackUrl: CALLBACK_URL }
        const suspect = createArrival({
          type: 'transfers.rewritten',
          subscription,
          suspicion: 'another type',
        })
        const { id } = await inbox.add(suspect)
        await done(inbox.act(id, 'release', 'ann'))
        const claimed = await claimNext(inbox)
        assert.equal(claimed.id, id)
        assert.equal(claimed.callback.type, EVENT_TYPE)
      })

      it('gives the entry, and says that it is a replay', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ suspicion: 'stale' }))
        await done(inbox.act(id, 'release', 'ann'))
        const claim = await claimNext(inbox)
        assert.equal(claim.id, id)
        assert.equal(claim.attempt, 1)
        assert.equal(claim.replayed, true)
      })

      it('says duplicate to a copy of it from then on, suspect or not', async ({ inbox }) => {
        const arrival = createArrival()
        const suspect = { ...arrival, suspicion: 'stale' }
        const { id } = await inbox.add(suspect)
        await done(inbox.act(id, 'release', 'ann'))
        assert.deepEqual(await inbox.add(suspect), { result: 'duplicate', id })
        assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
        assert.deepEqual(await inbox.add(signedAnew(arrival)), { result: 'duplicate', id })
      })

      it('does not release what has been stored since', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add({ ...arrival, suspicion: 'stale' })
        const { id: storedId } = await inbox.add(arrival)
        await finishNext(inbox, 'complete')
        assert.equal(await inbox.act(id, 'release', 'ann'), `the same callback is entry ${storedId}, handled`)
        assert.equal(await stateOf(inbox, id), 'quarantined')
      })

      it('releases one of two repeats, and not the other', async ({ inbox }) => {
        const suspect = createArrival({ suspicion: 'stale' })
        const { id } = await inbox.add(suspect)
        const { id: repeatId } = await inbox.add(signedAnew(suspect))
        await done(inbox.act(id, 'release', 'ann'))
        assert.equal(await inbox.act(repeatId, 'release', 'ann'), `the same callback is entry ${id}, stored`)
      })

      it('releases a repeat of what was discarded', async ({ inbox }) => {
        const suspect = createArrival({ suspicion: 'stale' })
        const { id } = await inbox.add(suspect)
        const { id: repeatId } = await inbox.add(signedAnew(suspect))
        await done(inbox.act(id, 'discard', 'ann'))
        await done(inbox.act(repeatId, 'release', 'ann'))
        assert.equal((await claimNext(inbox)).id, repeatId)
      })

      it('releases a conflict, which goes on being one for copies', async ({ inbox }) => {
        const arrival = createArrival()
        const conflict = withAnotherBody(arrival)
        const { id: firstId } = await inbox.add(arrival)
        const { id } = await inbox.add(conflict)
        await done(inbox.act(id, 'release', 'ann'))
        assert.deepEqual(new Set(idsOf(await inbox.claim(ANY))), new Set([firstId, id]))
        assert.deepEqual(await inbox.add(conflict), { result: 'duplicate', id })
        assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id: firstId })
      })

      it('releases one of two conflicts with the same body, and not the other', async ({ inbox }) => {
        const arrival = createArrival()
        const conflict = withAnotherBody(arrival)
        await inbox.add(arrival)
        const { id } = await inbox.add(conflict)
        const { id: repeatId } = await inbox.add(signedAnew(conflict))
        await done(inbox.act(id, 'release', 'ann'))
        assert.equal(await inbox.act(repeatId, 'release', 'ann'), `the same callback is entry ${id}, stored`)
      })

      it('releases what came under another key, which only counts copies', async ({ inbox }) => {
        const arrival = createArrival()
        const replay = underAnotherKey(arrival)
        await inbox.add(arrival)
        const { id } = await inbox.add(replay)
        await done(inbox.act(id, 'release', 'ann'))
        assert.equal((await inbox.claim(ANY)).length, 2)
        assert.deepEqual(await inbox.add(replay), { result: 'duplicate', id })
      })
    })

    describe('when a person acts', () => {
      it('says that an entry is not there', async ({ inbox }) => {
        assert.equal(await inbox.act(999, 'retry', 'ann'), 'there is no entry 999')
      })

      for (const action of ['retry', 'release', 'discard'] as const) {
        for (const state of STATES) {
          const isPossible = (MOVES[action].from as readonly InboxState[]).includes(state)
          it(`${isPossible ? 'can' : 'cannot'} ${action} what is ${state}`, async ({ inbox }) => {
            const id = await addIn(state, inbox)
            const before = await inbox.show(id)
            const refusal = await inbox.act(id, action, 'ann')
            if (isPossible) {
              assert.equal(refusal, undefined)
              assert.equal(await stateOf(inbox, id), MOVES[action].to)
            } else {
              assert.match(refusal ?? 'done', new RegExp(`^entry ${id} is ${state}; `))
              assert.deepEqual(await inbox.show(id), before)
            }
          })
        }
      }

      it('records what was done, when and by whom', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ suspicion: 'stale' }))
        await done(inbox.act(id, 'release', 'ann'))
        await done(inbox.act(id, 'discard', 'bob'))
        const history = (await inbox.show(id))!.history
        assert.deepEqual(
          history.map(({ action, by }) => ({ action, by })),
          [
            { action: 'release', by: 'ann' },
            { action: 'discard', by: 'bob' },
          ],
        )
        assert.ok(history.every(({ at }) => at instanceof Date && !Number.isNaN(Number(at))))
      })

      it('lets exactly one of concurrent persons do it', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival())
        await finishNext(inbox, 'giveUp')
        const refusals = await Promise.all(Array.from({ length: 10 }, () => inbox.act(id, 'retry', 'ann')))
        assert.equal(refusals.filter((refusal) => refusal === undefined).length, 1)
        assert.equal((await inbox.show(id))?.history.length, 1)
      })
    })

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

    describe('when asked what it holds', () => {
      it('counts the entries in each state', async ({ inbox }) => {
        for (const state of STATES) await addIn(state, inbox)
        const { oldestUnfinished, ...counts } = await inbox.stats()
        assert.deepEqual(counts, Object.fromEntries(STATES.map((state) => [state, 1])))
      })

      it('counts nothing where nothing is', async ({ inbox }) => {
        const { oldestUnfinished, ...counts } = await inbox.stats()
        assert.deepEqual(counts, Object.fromEntries(STATES.map((state) => [state, 0])))
        assert.equal(oldestUnfinished, undefined)
      })

      it('tells when the oldest arrived that is not finished', async ({ inbox }) => {
        const times = [1000, 2000, 3000].map((ms) => new Date(RECEIVED_AT + ms))
        for (const receivedAt of times) await inbox.add(createArrival({ receivedAt }))
        assert.deepEqual((await inbox.stats()).oldestUnfinished, times[0])
        await finishNext(inbox, 'complete')
        await claimNext(inbox)
        assert.deepEqual((await inbox.stats()).oldestUnfinished, times[1])
      })

      it('lists by id, page by page', async ({ inbox }) => {
        const ids = []
        for (let i = 0; i < 5; i++) ids.push((await inbox.add(createArrival())).id)
        assert.deepEqual(idsOf(await inbox.list({})), ids)
        assert.deepEqual(idsOf(await inbox.list({}, { limit: 2 })), ids.slice(0, 2))
        assert.deepEqual(idsOf(await inbox.list({}, { afterId: ids[1]!, limit: 2 })), ids.slice(2, 4))
      })

      it('lists those in some states', async ({ inbox }) => {
        const ids: Partial<Record<InboxState, number>> = {}
        for (const state of STATES) ids[state] = await addIn(state, inbox)
        for (const state of STATES)
          assert.deepEqual(idsOf(await inbox.list({ states: [state] })), [ids[state]])
        const some = await inbox.list({ states: ['dead', 'handled'] })
        assert.deepEqual(new Set(idsOf(some)), new Set([ids.dead, ids.handled]))
        assert.deepEqual(await inbox.list({ states: [] }), [])
      })

      it('lists those of a type', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ type: 'a' }))
        await inbox.add(createArrival({ type: 'b' }))
        assert.deepEqual(idsOf(await inbox.list({ eventType: 'a' })), [id])
      })

      it('lists those with a key, in quarantine or not', async ({ inbox }) => {
        const arrival = createArrival()
        const { id } = await inbox.add(arrival)
        const { id: conflictId } = await inbox.add(withAnotherBody(arrival))
        await inbox.add(createArrival())
        const { idempotencyKey } = arrival.callback
        assert.deepEqual(idsOf(await inbox.list({ idempotencyKey })), [id, conflictId])
      })

      it('lists those received before, after or between times', async ({ inbox }) => {
        const ids: number[] = []
        for (const ms of [10, 20, 30]) {
          ids.push((await inbox.add(createArrival({ receivedAt: new Date(RECEIVED_AT + ms) }))).id)
        }
        const after = RECEIVED_AT + 10
        const before = RECEIVED_AT + 30
        assert.deepEqual(idsOf(await inbox.list({ after })), ids.slice(1))
        assert.deepEqual(idsOf(await inbox.list({ before })), ids.slice(0, 2))
        assert.deepEqual(idsOf(await inbox.list({ after, before })), [ids[1]])
      })

      it('lists those that fit all of a filter', async ({ inbox }) => {
        const { id } = await inbox.add(createArrival({ type: 'a' }))
        await inbox.add(createArrival({ type: 'a', hasHandler: false }))
        await inbox.add(createArrival({ type: 'b' }))
        assert.deepEqual(idsOf(await inbox.list({ states: ['stored'], eventType: 'a' })), [id])
      })

      it('lists everything that show tells but body and history', async ({ inbox }) => {
        for (const state of STATES) await addIn(state, inbox)
        for (const summary of await inbox.list({})) {
          const { rawBody, history, ...entry } = (await inbox.show(summary.id))!
          assert.deepEqual(summary, entry)
        }
      })

      it('shows nothing for an entry that is not there', async ({ inbox }) => {
        assert.equal(await inbox.show(999), undefined)
      })
    })
  })
}

const LONG = 3_600_000
const SHORT = 500

const EVENT_TYPE = 'transfers.book-completed'
const CALLBACK_URL = 'https://partner.example.com/hooks/transfers'
const RECEIVED_AT = Date.UTC(2025, 10, 21, 9)

const STATES = [
  'stored',
  'running',
  'retrying',
  'handled',
  'dead',
  'unhandled',
  'quarantined',
  'discarded',
] as const satisfies readonly InboxState[]

const ANY: ClaimEntries = { eventTypes: 'any', limit: 100, leaseMs: SHORT }

type ArrivalParts = Partial<Arrival> & Partial<VerifiedCallback>

function createArrival(parts: ArrivalParts = {}): Arrival {
  const callback: VerifiedCallback = parts.callback ?? {
    type: parts.type ?? EVENT_TYPE,
    idempotencyKey: randomUUID(),
    signedAt: new Date(RECEIVED_AT - 1000),
    receivedAt: parts.receivedAt ?? new Date(RECEIVED_AT),
    rawBody: parts.rawBody ?? Buffer.from(JSON.stringify({ Id: randomUUID() })),
    subscription: parts.subscription ?? {
      eventTypeName: parts.type ?? EVENT_TYPE,
      callbackUrl: CALLBACK_URL,
      description: 'tenant 1',
    },
  }
  return {
    callback,
    key: parts.key ?? `${callback.idempotencyKey}@${CALLBACK_URL}`,
    bodyHash: createHash('sha256').update(callback.rawBody).digest('base64'),
    signature: random44Characters(),
    suspicion: parts.suspicion,
    orderKey: parts.orderKey,
    hasHandler: parts.hasHandler ?? true,
  }
}

const signedAnew = (arrival: Arrival): Arrival => ({ ...arrival, signature: random44Characters() })

function withAnotherBody(arrival: Arrival): Arrival {
  const { callback, bodyHash } = createArrival()
  return {
    ...signedAnew(arrival),
    callback: { ...arrival.callback, rawBody: callback.rawBody },
    bodyHash,
  }
}

function underAnotherKey(arrival: Arrival): Arrival {
  const idempotencyKey = randomUUID()
  return {
    ...arrival,
    callback: { ...arrival.callback, idempotencyKey },
    key: `${idempotencyKey}@${CALLBACK_URL}`,
  }
}

function random44Characters(): string {
  return createHash('sha256').update(randomUUID()).digest('base64')
}

async function addInOrder(inbox: Inbox, count: number, orderKey = 'account 1'): Promise<number[]> {
  const ids = []
  for (let i = 0; i < count; i++) ids.push((await inbox.add(createArrival({ orderKey }))).id)
  return ids
}

async function claimNext(inbox: Inbox): Promise<ClaimedEntry> {
  const [claimed] = await inbox.claim({ ...ANY, limit: 1 })
  assert.ok(claimed, 'nothing is due')
  return claimed
}

type EndMove = 'complete' | 'reschedule' | 'giveUp' | 'setAside'

function endBy(move: EndMove) {
  if (move === 'reschedule') return { move, delayMs: LONG, error: 'busy' }
  if (move === 'giveUp') return { move, error: 'account is closed' }
  return { move }
}

async function finishNext(inbox: Inbox, move: EndMove): Promise<ClaimedEntry> {
  const claim = await claimNext(inbox)
  assert.equal(await inbox.finish(claim, endBy(move)), true)
  return claim
}

/** Adds an entry and brings it into a state; nothing else may be due, or all that is due is running. */
async function addIn(state: InboxState, inbox: Inbox): Promise<number> {
  const type = `${state}.only`
  const { id } = await inbox.add(
    createArrival({
      type,
      hasHandler: state !== 'unhandled',
      suspicion: state === 'quarantined' ? 'stale' : undefined,
    }),
  )
  const moves: Partial<Record<InboxState, EndMove>> = {
    retrying: 'reschedule',
    handled: 'complete',
    dead: 'giveUp',
  }
  if (state === 'running' || moves[state]) {
    const [claim] = await inbox.claim({ eventTypes: [type], limit: 1, leaseMs: LONG })
    if (moves[state]) await inbox.finish(claim!, endBy(moves[state]))
  }
  if (state === 'discarded') await done(inbox.act(id, 'discard', 'ann'))
  assert.equal(await stateOf(inbox, id), state)
  return id
}

async function done(acting: Promise<string | undefined>): Promise<void> {
  assert.equal(await acting, undefined)
}

async function stateOf(inbox: Inbox, id: number): Promise<InboxState | undefined> {
  return (await inbox.show(id))?.state
}

const idsOf = (entries: readonly Pick<EntrySummary, 'id'>[]): number[] => entries.map(({ id }) => id)

const repeat = <Value>(times: number, value: Value): Value[] => Array.from({ length: times }, () => value)

async function resultsOf(inbox: Inbox, arrivals: readonly Arrival[]): Promise<string[]> {
  return (await Promise.all(arrivals.map((arrival) => inbox.add(arrival)))).map(({ result }) => result)
}

function countEach(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
