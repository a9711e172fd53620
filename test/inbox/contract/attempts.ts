import assert from 'node:assert/strict'
import type { Attempt } from '../../../src/inbox/operations.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import {
  ANY,
  beginNext,
  claimDue,
  claimNext,
  createArrival,
  done,
  finishNext,
  INTERRUPTED,
  LONG,
  settle,
  SHORT,
} from './entries.js'
import type { Suite } from './suite.js'

/** The attempts of an entry without their times. */
async function attemptsOf(inbox: WholeInbox, id: string): Promise<Omit<Attempt, 'startedAt' | 'endedAt'>[]> {
  return (await inbox.show(id))!.attemptHistory.map(({ startedAt, endedAt, ...attempt }) => attempt)
}

const endNow = { move: 'reschedule', delayMs: 0, error: 'busy', code: 'ERR_HANDLER_FAILED' } as const

export function registerAttempts({ describe, it }: Suite): void {
  describe('of the attempts of an entry', () => {
    it('keeps none until its handlers begin', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      assert.deepEqual((await inbox.show(id))?.attemptHistory, [])
      const claim = await claimNext(inbox)
      assert.deepEqual((await inbox.show(id))?.attemptHistory, [])
      await settle(inbox, claim, { move: 'handBack' })
      assert.deepEqual((await inbox.show(id))?.attemptHistory, [])
    })

    it('keeps each with its result, its error and its times', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const first = await beginNext(inbox)
      assert.deepEqual(await attemptsOf(inbox, id), [{ number: 1, result: 'running' }])
      await advance(20)
      await settle(inbox, first, endNow)
      const second = await beginNext(inbox)
      await settle(inbox, second, { move: 'complete' })
      assert.deepEqual(await attemptsOf(inbox, id), [
        { number: 1, result: 'retrying', code: 'ERR_HANDLER_FAILED', error: 'busy' },
        { number: 2, result: 'handled' },
      ])
      const [one, two] = (await inbox.show(id))!.attemptHistory
      assert.ok(Number(one!.endedAt) - Number(one!.startedAt) >= 20)
      assert.ok(two!.startedAt >= one!.endedAt! && two!.endedAt! >= two!.startedAt)
    })

    it('keeps the code only if there is one, and any text as the error', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const error = 'a "quote", a \\, a line\nfeed, U+0000 \0 and \u{1F642}'
      await settle(inbox, await beginNext(inbox), { move: 'deadLetter', error })
      assert.deepEqual(await attemptsOf(inbox, id), [{ number: 1, result: 'dead', error }])
    })

    it('says that one was interrupted once the entry is claimed again', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await beginNext(inbox)
      await advance(SHORT + 1)
      const [claim] = await claimDue(inbox, INTERRUPTED)
      assert.deepEqual(await attemptsOf(inbox, id), [{ number: 1, result: 'interrupted' }])
      await inbox.begin([claim!], SHORT)
      assert.deepEqual(await attemptsOf(inbox, id), [
        { number: 1, result: 'interrupted' },
        { number: 2, result: 'running' },
      ])
      assert.equal((await inbox.show(id))!.attemptHistory[0]!.endedAt, undefined)
    })

    it('records nothing more for a claim that was lost', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      const late = await beginNext(inbox)
      await advance(SHORT + 1)
      await claimDue(inbox, INTERRUPTED)
      await settle(inbox, late, { move: 'complete' })
      assert.deepEqual(await attemptsOf(inbox, id), [{ number: 1, result: 'interrupted' }])
    })

    it('does not count one that was handed back, and keeps it', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await settle(inbox, await beginNext(inbox), { move: 'handBack' })
      const [claim] = await claimDue(inbox, INTERRUPTED)
      await inbox.begin([claim!], SHORT)
      assert.deepEqual(await attemptsOf(inbox, id), [
        { number: 1, result: 'handedBack' },
        { number: 1, result: 'running' },
      ])
    })

    it('gives up on one that was interrupted, without another', async ({ inbox, advance }) => {
      const { id } = await inbox.add(createArrival())
      await beginNext(inbox)
      await advance(SHORT + 1)
      const [claim] = await claimDue(inbox, INTERRUPTED)
      await settle(inbox, claim!, { move: 'deadLetter', error: 'tried too often' })
      assert.deepEqual(await attemptsOf(inbox, id), [{ number: 1, result: 'interrupted' }])
    })

    it('counts a second begin of a claim once', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const claim = await beginNext(inbox)
      await inbox.begin([claim], SHORT)
      assert.deepEqual(await attemptsOf(inbox, id), [{ number: 1, result: 'running' }])
    })

    it('keeps those from before a person retried the entry, and their numbers continue', async ({
      inbox,
    }) => {
      const { id } = await inbox.add(createArrival())
      await settle(inbox, await beginNext(inbox), endNow)
      await finishNext(inbox, 'complete')
      await done(inbox.act(id, 'retry', 'ann', { again: true }))
      const before: Omit<Attempt, 'startedAt' | 'endedAt'>[] = [
        { number: 1, result: 'retrying', code: 'ERR_HANDLER_FAILED', error: 'busy' },
        { number: 2, result: 'handled' },
      ]
      assert.deepEqual(await attemptsOf(inbox, id), before)
      await settle(inbox, await beginNext(inbox), { move: 'handBack' })
      const [again] = await claimDue(inbox, INTERRUPTED)
      await inbox.begin([again!], SHORT)
      await settle(inbox, again!, { move: 'deadLetter', error: 'account is closed' })
      await done(inbox.act(id, 'retry', 'ann'))
      const claim = await beginNext(inbox)
      // What limits the attempts counts from the decision.
      assert.deepEqual([claim.attempt, (await inbox.show(id))?.attempts], [1, 1])
      assert.deepEqual(await attemptsOf(inbox, id), [
        ...before,
        { number: 3, result: 'handedBack' },
        { number: 3, result: 'dead', error: 'account is closed' },
        { number: 4, result: 'running' },
      ])
    })

    it('keeps the end of one when a repeat arrives that was signed anew', async ({ inbox, advance }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      await finishNext(inbox, 'complete')
      const before = (await inbox.show(id))!.attemptHistory
      await advance(20)
      await inbox.add({ ...arrival, signature: createArrival().signature })
      assert.deepEqual((await inbox.show(id))!.attemptHistory, before)
    })

    it('keeps the latest 50', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      for (let i = 1; i <= 53; i++)
        await settle(inbox, await beginNext(inbox), { ...endNow, error: `error ${i}` })
      const [claim] = await claimDue(inbox, { ...ANY, leaseMs: LONG })
      await inbox.begin([claim!], LONG)
      const attempts = await attemptsOf(inbox, id)
      assert.equal(attempts.length, 50)
      assert.equal(attempts[0]!.error, 'error 5')
      assert.deepEqual(attempts.at(-1), { number: 54, result: 'running' })
      assert.deepEqual(
        attempts.map(({ number }) => number),
        Array.from({ length: 50 }, (_, index) => index + 5),
      )
      await settle(inbox, claim!, { move: 'deadLetter', error: 'account is closed' })
      await done(inbox.act(id, 'retry', 'ann'))
      for (let i = 1; i <= 51; i++) await settle(inbox, await beginNext(inbox), endNow)
      assert.deepEqual(
        (await attemptsOf(inbox, id)).map(({ number }) => number),
        Array.from({ length: 50 }, (_, index) => index + 56),
      )
    })
  })
}
