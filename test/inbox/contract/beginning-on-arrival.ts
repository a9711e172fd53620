import assert from 'node:assert/strict'
import type { Arrival, ClaimToken } from '../../../src/inbox/engine.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import {
  ANY,
  claimDue,
  claimNext,
  countEach,
  createArrival,
  finishNext,
  INTERRUPTED,
  repeat,
  settle,
  SHORT,
  signedAnew,
  stateOf,
  underAnotherKey,
  withAnotherBody,
} from './entries.js'
import type { Suite } from './suite.js'

const BEGIN = { leaseMs: SHORT }

/** Stores one that is new. */
async function addBegun(inbox: WholeInbox, arrival: Arrival): Promise<ClaimToken> {
  const added = await inbox.add(arrival, BEGIN)
  assert.ok(added.result === 'stored' && added.claim)
  assert.equal(added.claim.id, added.id)
  return added.claim
}

export function registerBeginningOnArrival({ describe, it }: Suite): void {
  describe('when the handlers of an entry are to begin as it is stored', () => {
    it('claims it and counts the attempt', async ({ inbox, advance }) => {
      const claim = await addBegun(inbox, createArrival())
      const { id } = claim
      const entry = await inbox.show(id)
      assert.equal(entry?.state, 'running')
      assert.equal(entry?.attempts, 1)
      assert.deepEqual(
        entry?.attemptHistory.map(({ number, result }) => [number, result]),
        [[1, 'running']],
      )
      await advance(SHORT / 2)
      assert.deepEqual(await claimDue(inbox, ANY), [])
      assert.deepEqual(await claimDue(inbox, INTERRUPTED), [])
    })

    it('ends by this claim', async ({ inbox }) => {
      const arrival = createArrival()
      const claim = await addBegun(inbox, arrival)
      assert.equal(await settle(inbox, { ...claim, token: claim.token + 1 }, { move: 'complete' }), false)
      assert.equal(await settle(inbox, claim, { move: 'complete' }), true)
      const entry = await inbox.show(claim.id)
      assert.equal(entry?.state, 'handled')
      assert.deepEqual(
        entry?.attemptHistory.map(({ number, result }) => [number, result]),
        [[1, 'handled']],
      )
      assert.deepEqual(await inbox.add(arrival, BEGIN), { result: 'duplicate', id: claim.id })
      assert.equal(await stateOf(inbox, claim.id), 'handled')
    })

    it('has its second attempt after a first one that failed', async ({ inbox, advance }) => {
      const claim = await addBegun(inbox, createArrival())
      await settle(inbox, claim, { move: 'reschedule', delayMs: SHORT, error: 'busy' })
      assert.equal(await stateOf(inbox, claim.id), 'retrying')
      await advance(SHORT)
      const again = await claimNext(inbox)
      assert.equal(again.id, claim.id)
      assert.equal(again.attempt, 2)
      assert.notEqual(again.token, claim.token)
      assert.equal(await settle(inbox, claim, { move: 'complete' }), false)
    })

    it('counts the attempt once if it is begun again, and renews the lease', async ({ inbox, advance }) => {
      const claim = await addBegun(inbox, createArrival())
      const only = new Set([claim.id])
      await advance(SHORT / 2)
      assert.deepEqual(await inbox.begin([claim], SHORT), only)
      await advance(SHORT / 2)
      assert.deepEqual(await inbox.extend([claim], SHORT), only)
      await advance(SHORT / 2)
      assert.deepEqual(await claimDue(inbox, INTERRUPTED), [])
      assert.equal((await inbox.show(claim.id))?.attempts, 1)
    })

    it('is interrupted once its lease has ended', async ({ inbox, advance }) => {
      const claim = await addBegun(inbox, createArrival())
      await advance(SHORT)
      const claims = await inbox.claim(ANY)
      assert.deepEqual([claims.entries.length, claims.interruptedIsDue], [0, true])
      const [interrupted] = await claimDue(inbox, INTERRUPTED)
      assert.equal(interrupted?.id, claim.id)
      assert.equal(interrupted.attempt, 2)
      assert.deepEqual(await inbox.extend([claim], SHORT), new Set())
      assert.equal(await settle(inbox, claim, { move: 'complete' }), false)
    })

    it('keeps its bytes, headers and trace context', async ({ inbox, advance }) => {
      const headers = { pairs: [['Accept', '*/*']], isCut: false } as const
      const traceContext = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const rawBody = Buffer.from([0, 255, 10, 13, 128])
      const arrival = createArrival({ rawBody, headers, traceContext, bodyId: 'id 1' })
      const claim = await addBegun(inbox, arrival)
      const entry = await inbox.show(claim.id)
      assert.deepEqual(entry?.rawBody, rawBody)
      assert.deepEqual(entry?.headers, headers)
      assert.equal(entry?.bodyId, 'id 1')
      await advance(SHORT)
      const [claimed] = await claimDue(inbox, INTERRUPTED)
      assert.equal(claimed?.callback.traceContext, traceContext)
    })

    it('is not claimed if it has an order', async ({ inbox }) => {
      for (const isFirst of [true, false]) {
        const added = await inbox.add(createArrival({ orderKey: 'account 1' }), BEGIN)
        assert.equal('claim' in added && added.claim !== undefined, false)
        assert.equal(await stateOf(inbox, added.id), 'stored')
        if (isFirst) await finishNext(inbox, 'complete')
      }
    })

    it('is not claimed if it is known or suspect', async ({ inbox }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      assert.deepEqual(await inbox.add(arrival, BEGIN), { result: 'duplicate', id })
      assert.deepEqual(await inbox.add(signedAnew(arrival), BEGIN), { result: 'duplicate', id })
      assert.equal(await stateOf(inbox, id), 'stored')
      const suspects = [
        withAnotherBody(arrival),
        underAnotherKey(arrival),
        createArrival({ suspicion: 'stale' }),
      ]
      for (const suspect of suspects) {
        const added = await inbox.add(suspect, BEGIN)
        assert.equal(added.result, 'quarantined')
        assert.equal(await stateOf(inbox, added.id), 'quarantined')
      }
      assert.equal((await inbox.show(id))?.attempts, 0)
    })

    it('is claimed once of a hundred that arrive at the same time', async ({ inbox }) => {
      const added = await Promise.all(repeat(100, createArrival()).map((each) => inbox.add(each, BEGIN)))
      assert.deepEqual(countEach(added.map(({ result }) => result)), { stored: 1, duplicate: 99 })
      const claims = added.filter((each) => 'claim' in each && each.claim !== undefined)
      assert.ok(claims.length <= 1)
    })
  })
}
