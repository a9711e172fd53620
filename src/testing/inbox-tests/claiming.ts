import assert from 'node:assert/strict'
import type { EntryId } from '../../callback/callback.js'
import { MOVES } from '../../inbox/states.js'
import {
  addInOrder,
  ANY,
  beginNext,
  claimDue,
  claimNext,
  createArrival,
  endBy,
  EVENT_TYPE,
  finishNext,
  idsOf,
  INTERRUPTED,
  LONG,
  NO_ID,
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

    it('says when the next entry is due', async ({ inbox, advance }) => {
      for (let i = 0; i < 2; i++) await inbox.add(createArrival())
      const { entries, nextDueInMs: whenFull } = await inbox.claim({ ...ANY, limit: 2 })
      assert.equal(whenFull, undefined)
      for (const [index, delayMs] of [300, 200].entries())
        await settle(inbox, entries[index]!, { move: 'reschedule', delayMs, error: 'busy' })
      await advance(100)
      const { nextDueInMs } = await inbox.claim(ANY)
      // An inbox without a clock of its own has waited, and may have waited a little longer.
      assert.ok(nextDueInMs !== undefined && nextDueInMs <= 100 && nextDueInMs > 0, `${nextDueInMs}`)
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

  describe('when the handlers of an entry begin', () => {
    it('counts an attempt, and renews the lease', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const claimed = await claimNext(inbox)
      assert.equal(claimed.attempt, 1)
      assert.equal((await inbox.show(id))?.attempts, 0)
      await advance(SHORT / 2)
      assert.deepEqual(await inbox.begin([claimed], SHORT), new Set([id]))
      assert.equal((await inbox.show(id))?.attempts, 1)
      await advance(SHORT / 2)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      assert.deepEqual(await claimDue(inbox, INTERRUPTED), [])
    })

    it('counts a claim once', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const claimed = await claimNext(inbox)
      for (let time = 0; time < 2; time++) await inbox.begin([claimed], SHORT)
      assert.equal((await inbox.show(id))?.attempts, 1)
    })

    it('counts no claim that did not begin, however often its lease runs out', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      for (let time = 0; time < 3; time++) {
        assert.equal((await claimNext(inbox)).attempt, 1)
        await advance(SHORT)
      }
      assert.equal((await inbox.show(id))?.attempts, 0)
    })

    it('does not let one begin whose claim was lost', async ({ inbox, advance }) => {
      await inbox.add(createArrival({ type: 'a' }))
      await inbox.add(createArrival({ type: 'b' }))
      const claims = await claimDue(inbox, ANY)
      await advance(SHORT)
      const [other] = await claimDue(inbox, { ...ANY, eventTypes: ['a'] })
      const held = claims.find(({ callback }) => callback.type === 'b')!
      assert.deepEqual(await inbox.begin(claims, SHORT), new Set([held.id]))
      assert.equal((await inbox.show(other!.id))?.attempts, 0)
      assert.deepEqual(await inbox.begin([{ id: NO_ID, token: 1 }], SHORT), new Set())
    })

    it('does not let one begin that has ended', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const ended = await finishNext(inbox, 'complete')
      assert.deepEqual(await inbox.begin([ended], SHORT), new Set())
      assert.equal((await inbox.show(id))?.attempts, 1)
    })

    it('takes back the attempt of what is handed back, which is due at once', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      assert.equal(await settle(inbox, await claimNext(inbox), { move: 'handBack' }), true)
      assert.equal(await stateOf(inbox, id), 'stored')
      assert.equal(await settle(inbox, await beginNext(inbox), { move: 'handBack' }), true)
      assert.equal((await inbox.show(id))?.attempts, 0)
      // It may have begun after all, so that it is handled by itself.
      const [again] = await claimDue(inbox, INTERRUPTED)
      assert.equal(again?.attempt, 1)
    })
  })

  describe('with entries whose handlers began and that nobody ended', () => {
    it('gives them to those who ask for them, and not among others', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await beginNext(inbox)
      assert.equal((await inbox.claim(ANY)).interruptedIsDue, false)
      assert.deepEqual(await claimDue(inbox, INTERRUPTED), [])
      await advance(SHORT)
      const { id: other } = await inbox.add(createArrival())
      const claims = await inbox.claim(ANY)
      assert.deepEqual(idsOf(claims.entries), [other])
      assert.equal(claims.interruptedIsDue, true)
      const interrupted = await inbox.claim(INTERRUPTED)
      assert.deepEqual(idsOf(interrupted.entries), [id])
      assert.equal(interrupted.entries[0]!.attempt, 2)
      assert.equal(interrupted.interruptedIsDue, false)
      assert.equal((await inbox.claim(ANY)).interruptedIsDue, false)
    })

    it('gives them oldest first, of those types, no more than the limit', async ({ inbox, advance }) => {
      const ids: EntryId[] = []
      for (const type of ['a', 'b', 'a', 'c']) ids.push((await inbox.add(createArrival({ type }))).id)
      await inbox.begin(await claimDue(inbox, ANY), SHORT)
      await advance(SHORT)
      const { entries, interruptedIsDue } = await inbox.claim({
        ...INTERRUPTED,
        eventTypes: ['c', 'a'],
        limit: 2,
      })
      assert.deepEqual(idsOf(entries), [ids[0], ids[2]])
      assert.equal(interruptedIsDue, true)
      assert.equal((await inbox.claim({ ...ANY, eventTypes: ['b'] })).interruptedIsDue, true)
      assert.equal((await inbox.claim({ ...ANY, eventTypes: ['a'] })).interruptedIsDue, false)
      assert.equal((await inbox.claim({ ...ANY, eventTypes: [] })).interruptedIsDue, false)
    })

    it('says nothing of when they are due to those who do not ask for them', async ({ inbox }) => {
      await inbox.add(createArrival())
      await beginNext(inbox)
      assert.equal((await inbox.claim(ANY)).nextDueInMs, undefined)
      assert.ok((await inbox.claim(INTERRUPTED)).nextDueInMs! > 0)
    })

    it('still gives them so when they did not begin again, or were handed back', async ({
      inbox,
      advance,
    }) => {
      const { id } = await inbox.add(createArrival())
      await beginNext(inbox)
      await advance(SHORT)
      assert.deepEqual(idsOf(await claimDue(inbox, INTERRUPTED)), [id])
      await advance(SHORT)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      const [claimed] = await claimDue(inbox, INTERRUPTED)
      assert.equal(claimed?.attempt, 2)
      await settle(inbox, claimed, { move: 'handBack' })
      assert.deepEqual(await claimDue(inbox, ANY), [])
      const [again] = await claimDue(inbox, INTERRUPTED)
      assert.equal(again?.attempt, 2)
    })

    it('gives them among others once an end was recorded', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await beginNext(inbox)
      await advance(SHORT)
      const [claimed] = await claimDue(inbox, INTERRUPTED)
      await inbox.begin([claimed!], SHORT)
      await settle(inbox, claimed!, { move: 'reschedule', delayMs: 0, error: 'busy' })
      const again = await claimNext(inbox)
      assert.equal(again.id, id)
      assert.equal(again.attempt, 3)
    })
  })

  describe('while an entry is claimed', () => {
    it('renews the lease from now', async ({ inbox, advance }) => {
      await inbox.add(createArrival())
      const claim = await claimNext(inbox)
      await advance(SHORT / 2)
      assert.deepEqual(await inbox.extend([claim], SHORT), new Set([claim.id]))
      await advance(SHORT / 2)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      await advance(SHORT / 2)
      assert.equal((await claimNext(inbox)).id, claim.id)
    })

    it('tells which of several are still held', async ({ inbox, advance }) => {
      await inbox.add(createArrival({ type: 'a' }))
      await inbox.add(createArrival({ type: 'b' }))
      const claims = await claimDue(inbox, ANY)
      await advance(SHORT)
      await claimDue(inbox, { ...ANY, eventTypes: ['a'] })
      const held = claims.find(({ callback }) => callback.type === 'b')!
      assert.deepEqual(await inbox.extend(claims, SHORT), new Set([held.id]))
    })

    it('renews a lease that is over and that nobody has taken', async ({ inbox, advance }) => {
      await inbox.add(createArrival())
      const claim = await claimNext(inbox)
      await advance(SHORT)
      assert.deepEqual(await inbox.extend([claim], SHORT), new Set([claim.id]))
      assert.deepEqual(await claimDue(inbox, ANY), [])
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
      assert.deepEqual(await inbox.extend([{ id: NO_ID, token: 1 }], SHORT), new Set())
    })

    it('lets one who is late complete when nobody has taken it', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const claim = await claimNext(inbox)
      await advance(SHORT)
      assert.equal(await settle(inbox, claim, { move: 'complete' }), true)
      assert.equal(await stateOf(inbox, id), 'handled')
    })

    for (const move of ['complete', 'deadLetter', 'reschedule'] as const) {
      it(`does not let one whose claim was lost ${move}`, async ({ inbox, advance }) => {
        const { id } = await inbox.add(createArrival())
        const late = await claimNext(inbox)
        await advance(SHORT)
        const claim = await claimNext(inbox)
        const before = await inbox.show(id)
        assert.equal(await settle(inbox, late, endBy(move)), false)
        assert.deepEqual(await inbox.show(id), before)
        assert.equal(await settle(inbox, claim, { move: 'complete' }), true)
      })
    }

    it('ends a claim once', async ({ inbox }) => {
      await inbox.add(createArrival())
      const claim = await finishNext(inbox, 'complete')
      assert.equal(await settle(inbox, claim, { move: 'deadLetter', error: 'late' }), false)
    })

    it('lets exactly one of concurrent finishers end a claim', async ({ inbox }) => {
      await inbox.add(createArrival())
      const claim = await claimNext(inbox)
      const ended = await Promise.all(
        Array.from({ length: 20 }, () => settle(inbox, claim, { move: 'complete' })),
      )
      assert.equal(ended.filter(Boolean).length, 1)
    })

    it('ends several claims in one step, and tells which were held', async ({ inbox, advance }) => {
      const ids: Record<string, EntryId> = {}
      for (const type of ['a', 'b', 'c']) ids[type] = (await inbox.add(createArrival({ type }))).id
      const claims = await claimDue(inbox, ANY)
      await advance(SHORT)
      const [taken] = await claimDue(inbox, { ...ANY, eventTypes: ['b'], leaseMs: LONG })
      const ends = [endBy('complete'), endBy('deadLetter'), endBy('reschedule')]
      const inOrder = ['a', 'b', 'c'].map((type) => claims.find(({ callback }) => callback.type === type)!)
      const held = await inbox.settle(inOrder.map((claim, index) => ({ claim, end: ends[index]! })))
      assert.deepEqual(held, new Set([ids['a'], ids['c']]))
      assert.equal(await stateOf(inbox, ids['a']!), 'handled')
      assert.equal(await stateOf(inbox, ids['b']!), 'running')
      assert.equal(await stateOf(inbox, ids['c']!), 'retrying')
      assert.equal(await settle(inbox, taken!, { move: 'complete' }), true)
      assert.deepEqual(await inbox.settle([]), new Set())
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
      const claim = await beginNext(inbox)
      await settle(inbox, claim, { move: 'reschedule', delayMs: 200, error: 'timed out' })
      assert.equal(await stateOf(inbox, id), 'retrying')
      await advance(100)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      await advance(100)
      const again = await claimNext(inbox)
      assert.equal(again.attempt, 2)
      assert.equal(again.replayed, false)
    })

    it('keeps why it failed', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await settle(inbox, await claimNext(inbox), { move: 'deadLetter', error: 'account is closed' })
      assert.equal((await inbox.show(id))?.reason, 'account is closed')
    })

    it('forgets why earlier attempts failed once it has been handled', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const claim = await claimNext(inbox)
      await settle(inbox, claim, { move: 'reschedule', delayMs: 1, error: 'timed out' })
      await advance(1)
      await finishNext(inbox, 'complete')
      assert.equal((await inbox.show(id))?.reason, undefined)
    })
  })
}
