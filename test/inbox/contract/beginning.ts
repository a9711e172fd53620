import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import {
  ANY,
  beginNext,
  claimDue,
  claimNext,
  createArrival,
  finishNext,
  idsOf,
  INTERRUPTED,
  NO_ID,
  settle,
  SHORT,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerBeginning({ describe, it }: Suite): void {
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

  describe('when the handlers of an entry are to begin as it is claimed', () => {
    const claimBegun = async (inbox: WholeInbox, beginBelow = 2) => claimDue(inbox, { ...ANY, beginBelow })

    it('counts an attempt', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const [claimed] = await claimBegun(inbox)
      assert.deepEqual([claimed?.attempt, claimed?.begun], [1, true])
      assert.equal((await inbox.show(id))?.attempts, 1)
      assert.deepEqual(await inbox.begin([claimed!], SHORT), new Set([id]))
      const entry = await inbox.show(id)
      assert.deepEqual(
        entry?.attemptHistory.map(({ number, result }) => [number, result]),
        [[1, 'running']],
      )
      await settle(inbox, claimed!, { move: 'reschedule', delayMs: SHORT, error: 'busy' })
      await advance(SHORT)
      const [second] = await claimBegun(inbox)
      assert.deepEqual([second?.attempt, second?.begun], [2, true])
      assert.equal(await settle(inbox, second!, { move: 'handBack' }), true)
      assert.equal((await inbox.show(id))?.attempts, 1)
    })

    it('begins none that has had so many attempts, or was interrupted', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const [first] = await claimBegun(inbox, 0)
      assert.equal(first?.begun, false)
      await inbox.begin([first], SHORT)
      await settle(inbox, first, { move: 'reschedule', delayMs: 0, error: 'busy' })
      const [second] = await claimBegun(inbox, 1)
      assert.equal(second?.begun, false)
      await inbox.begin([second], SHORT)
      await advance(SHORT)
      const [interrupted] = await claimDue(inbox, { ...INTERRUPTED, beginBelow: 99 })
      assert.deepEqual([interrupted?.attempt, interrupted?.begun], [3, false])
      assert.equal((await inbox.show(id))?.attempts, 2)
    })

    it('gives it as an interrupted one once its lease has ended', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await claimBegun(inbox)
      await advance(SHORT)
      assert.deepEqual(await claimBegun(inbox), [])
      assert.deepEqual(idsOf(await claimDue(inbox, INTERRUPTED)), [id])
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
}
