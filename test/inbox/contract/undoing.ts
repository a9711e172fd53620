import assert from 'node:assert/strict'
import type { WholeInbox } from '../../support/whole-inbox.js'
import type { InboxState } from '../../../src/inbox/states.js'
import {
  addIn,
  addInOrder,
  ANY,
  claimDue,
  claimNext,
  createArrival,
  done,
  EVENT_TYPE,
  finishNext,
  idsOf,
  NO_ID,
  PLAIN_SUBSCRIPTION,
  settle,
  signedAnew,
  stateOf,
} from './entries.js'
import type { Suite } from './suite.js'

async function entryOf(inbox: WholeInbox, id: string): Promise<object> {
  const { history, ...entry } = (await inbox.show(id))!
  return entry
}

async function refusedBy(inbox: WholeInbox, id: string, again = false): Promise<[string, string]> {
  const result = await inbox.act(id, 'undo', 'bob', { again })
  return result.done ? ['done', ''] : [result.code, result.message]
}

const DECIDED = [
  ['dead', 'retry'],
  ['retrying', 'retry'],
  ['handled', 'retry'],
  ['quarantined', 'release'],
  ['dead', 'discard'],
  ['unhandled', 'discard'],
  ['retrying', 'discard'],
  ['stored', 'discard'],
  ['quarantined', 'discard'],
] as const satisfies readonly (readonly [InboxState, string])[]

export function registerUndoing({ describe, it }: Suite): void {
  describe('when a person takes back a decision', () => {
    for (const [state, action] of DECIDED) {
      it(`restores what was ${state}, after ${action}`, async ({ inbox }) => {
        const id = await addIn(state, inbox)
        const before = await entryOf(inbox, id)
        await done(inbox.act(id, action, 'ann', { again: true }))
        await done(inbox.act(id, 'undo', 'bob', { reason: 'the wrong one' }))
        assert.deepEqual(await entryOf(inbox, id), before)
        assert.deepEqual(
          (await inbox.show(id))!.history.map(({ at, ...record }) => record),
          [
            { action, by: 'ann' },
            { action: 'undo', by: 'bob', reason: 'the wrong one' },
          ],
        )
      })
    }

    it('restores the attempts, which go on from there', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await settle(inbox, await claimBegun(inbox), { move: 'reschedule', delayMs: 0, error: 'busy' })
      await done(inbox.act(id, 'retry', 'ann'))
      await done(inbox.act(id, 'undo', 'ann'))
      assert.equal((await claimNext(inbox)).attempt, 2)
    })

    it('refuses where there is no decision, or it was taken back already', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const nothing = ['state', `entry ${id} has no decision that could be taken back`]
      assert.deepEqual(await refusedBy(inbox, id), nothing)
      await done(inbox.act(id, 'discard', 'ann'))
      await done(inbox.act(id, 'undo', 'ann'))
      assert.deepEqual(await refusedBy(inbox, id), nothing)
      assert.deepEqual(await refusedBy(inbox, NO_ID), ['not-found', `there is no entry ${NO_ID}`])
    })

    it('takes back the latest of several decisions, and only that one', async ({ inbox }) => {
      const id = await addIn('quarantined', inbox)
      await done(inbox.act(id, 'release', 'ann'))
      await done(inbox.act(id, 'discard', 'ann'))
      await done(inbox.act(id, 'undo', 'bob'))
      assert.equal(await stateOf(inbox, id), 'stored')
      assert.equal((await refusedBy(inbox, id))[0], 'state')
    })

    it('refuses once a worker has claimed the entry', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'deadLetter')
      await done(inbox.act(id, 'retry', 'ann'))
      const claim = await claimNext(inbox)
      const claimed = [
        'state',
        `a worker has claimed entry ${id} since the retry, which cannot be taken back now`,
      ]
      assert.deepEqual(await refusedBy(inbox, id), claimed)
      await settle(inbox, claim, { move: 'handBack' })
      assert.deepEqual(await refusedBy(inbox, id), claimed)
      assert.equal(await stateOf(inbox, id), 'stored')
    })

    it('keeps a release of which a repeat has arrived since', async ({ inbox }) => {
      const arrival = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(arrival)
      await done(inbox.act(id, 'release', 'ann'))
      await inbox.add({ ...signedAnew(arrival), suspicion: undefined })
      const [code, message] = await refusedBy(inbox, id)
      assert.equal(code, 'state')
      assert.match(message, /^a repeat of entry .+ has arrived since the release/)
      assert.equal(await stateOf(inbox, id), 'stored')
    })

    it('quarantines and counts copies as before once a release was taken back', async ({ inbox }) => {
      const arrival = createArrival({
        type: 'transfers.rewritten',
        subscription: PLAIN_SUBSCRIPTION,
        suspicion: 'another type',
      })
      const { id } = await inbox.add(arrival)
      await done(inbox.act(id, 'release', 'ann'))
      assert.equal((await inbox.show(id))?.eventType, EVENT_TYPE)
      await done(inbox.act(id, 'undo', 'ann'))
      assert.equal((await inbox.show(id))?.eventType, 'transfers.rewritten')
      assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
      assert.equal((await inbox.show(id))?.copies, 1)
      // The callback itself, not suspect, is stored beside it.
      assert.equal((await inbox.add({ ...arrival, suspicion: undefined })).result, 'stored')
      assert.deepEqual(await claimDue(inbox, { ...ANY, limit: 0 }), [])
    })

    it('does not handle a callback a second time, unless told to', async ({ inbox }) => {
      const suspect = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(suspect)
      const { id: repeatId } = await inbox.add(signedAnew(suspect))
      await done(inbox.act(id, 'release', 'ann'))
      await done(inbox.act(id, 'discard', 'ann'))
      await done(inbox.act(repeatId, 'release', 'ann', { again: true }))
      const [code, message] = await refusedBy(inbox, id)
      assert.equal(code, 'repeat')
      assert.match(message, new RegExp(`entry ${repeatId}, stored$`))
      assert.deepEqual(await refusedBy(inbox, id, true), ['done', ''])
      assert.equal(await stateOf(inbox, id), 'stored')
    })

    it('gives the entry its place in the order of its key again', async ({ inbox }) => {
      const [first, second, third] = await addInOrder(inbox, 3)
      await done(inbox.act(first!, 'discard', 'ann'))
      await done(inbox.act(first!, 'undo', 'ann'))
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [first])
      await done(inbox.act(second!, 'discard', 'ann'))
      await done(inbox.act(third!, 'discard', 'ann'))
      await done(inbox.act(second!, 'undo', 'ann'))
      assert.deepEqual(await claimDue(inbox, ANY), [])
    })

    it('lets those behind it go on when a retry is taken back', async ({ inbox }) => {
      const [first, second] = await addInOrder(inbox, 2)
      await finishNext(inbox, 'deadLetter')
      await done(inbox.act(first!, 'retry', 'ann'))
      await done(inbox.act(first!, 'undo', 'ann'))
      assert.deepEqual(idsOf(await claimDue(inbox, ANY)), [second])
    })

    it('counts the retention of what a repeat of has arrived meanwhile from that repeat', async ({
      inbox,
      advance,
    }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      await finishNext(inbox, 'complete')
      const before = (await inbox.show(id))!.finishedAt!
      await done(inbox.act(id, 'retry', 'ann', { again: true }))
      await advance(20)
      await inbox.add(signedAnew(arrival))
      await done(inbox.act(id, 'undo', 'ann'))
      assert.ok(Number((await inbox.show(id))!.finishedAt) >= Number(before) + 20)
    })
  })

  describe('of the reason of a decision', () => {
    it('keeps it in the history', async ({ inbox }) => {
      const id = await addIn('dead', inbox)
      const reason = 'the account is open again, "really" \u{1F642}'
      await done(inbox.act(id, 'retry', 'ann', { reason }))
      await done(inbox.act(id, 'discard', 'ann'))
      const history = (await inbox.show(id))!.history
      assert.deepEqual(
        history.map((record) => record.reason),
        [reason, undefined],
      )
    })

    it('refuses one that is too long, has control characters, or is not a text', async ({ inbox }) => {
      const id = await addIn('dead', inbox)
      await done(inbox.act(id, 'discard', 'ann', { reason: 'x'.repeat(500) }))
      const wrong = ['x'.repeat(501), 'a\nb', '\u001b[31m', 7 as unknown as string]
      for (const reason of wrong) {
        await assert.rejects(inbox.act(id, 'undo', 'ann', { reason }), { code: 'ERR_OPTION_INVALID' })
      }
      assert.equal(await stateOf(inbox, id), 'discarded')
    })
  })
}

async function claimBegun(inbox: WholeInbox) {
  const claim = await claimNext(inbox)
  await inbox.begin([claim], 60_000)
  return claim
}
