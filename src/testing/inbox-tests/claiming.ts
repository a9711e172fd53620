import assert from 'node:assert/strict'
import { MOVES } from '../../inbox/states.js'
import {
  ANY,
  claimNext,
  createArrival,
  endBy,
  EVENT_TYPE,
  finishNext,
  idsOf,
  LONG,
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
}
