import assert from 'node:assert/strict'
import type { EntryId } from '../../../src/callback/callback.js'
import {
  claimNext,
  createArrival,
  done,
  finishNext,
  NO_ID,
  refusalOf,
  settle,
  signedAnew,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerRetrying({ describe, it }: Suite): void {
  describe('when a person retries', () => {
    it('gives a dead letter again, from attempt 1', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'deadLetter')
      await done(inbox.act(id, 'retry', 'ann'))
      const claim = await claimNext(inbox)
      assert.equal(claim.id, id)
      assert.equal(claim.attempt, 1)
    })

    it('gives what was handled again only when told to, and says that it is a replay', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'complete')
      assert.equal(
        await refusalOf(inbox.act(id, 'retry', 'ann')),
        `entry ${id} was handled; retry would handle it a second time`,
      )
      await done(inbox.act(id, 'retry', 'ann', { again: true }))
      assert.equal((await inbox.show(id))?.finishedAt, undefined)
      assert.equal((await claimNext(inbox)).replayed, true)
    })

    it('retries and releases the callbacks of a tenant whatever became of those of another', async ({
      inbox,
    }) => {
      const ours = createArrival()
      await inbox.add(ours)
      await finishNext(inbox, 'complete')
      const { idempotencyKey, subscription } = ours.callback
      const callback = { ...ours.callback, subscription: { ...subscription, id: 'tenant-2' } }
      const theirs = { ...signedAnew(ours), callback, key: `${idempotencyKey}@tenant-2` }
      const { id } = await inbox.add(theirs)
      await finishNext(inbox, 'deadLetter')
      assert.deepEqual(await inbox.related(id), [])
      await done(inbox.act(id, 'retry', 'ann'))
      const third = { ...signedAnew(theirs), key: `${idempotencyKey}@tenant-3`, suspicion: 'stale' }
      await done(inbox.act((await inbox.add(third)).id, 'release', 'ann'))
      assert.equal((await inbox.list({ idempotencyKey })).entries.length, 3)
    })

    it('says by a code why it did nothing', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const codeOf = async (given: EntryId, action: 'retry' | 'release') => {
        const result = await inbox.act(given, action, 'ann')
        return result.done ? 'done' : result.code
      }
      assert.equal(await codeOf(NO_ID, 'retry'), 'not-found')
      assert.equal(await codeOf(id, 'release'), 'state')
      await finishNext(inbox, 'complete')
      assert.equal(await codeOf(id, 'retry'), 'repeat')
    })

    it('gives what waits for its retry at once', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      await finishNext(inbox, 'reschedule')
      await done(inbox.act(id, 'retry', 'ann'))
      assert.equal((await claimNext(inbox)).id, id)
    })

    it('fences off the claim from before', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival())
      const late = await finishNext(inbox, 'deadLetter')
      await done(inbox.act(id, 'retry', 'ann'))
      await claimNext(inbox)
      assert.equal(await settle(inbox, late, { move: 'complete' }), false)
    })
  })
}
