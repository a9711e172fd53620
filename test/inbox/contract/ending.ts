import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import {
  ANY,
  beginNext,
  claimDue,
  claimNext,
  createArrival,
  endBy,
  finishNext,
  LONG,
  NO_ID,
  settle,
  SHORT,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerEnding({ describe, it }: Suite): void {
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
