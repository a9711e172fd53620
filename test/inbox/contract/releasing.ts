import assert from 'node:assert/strict'
import {
  ANY,
  claimDue,
  claimNext,
  createArrival,
  done,
  EVENT_TYPE,
  finishNext,
  idsOf,
  PLAIN_SUBSCRIPTION,
  refusalOf,
  signedAnew,
  stateOf,
  underAnotherKey,
  withAnotherBody,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerReleasing({ describe, it }: Suite): void {
  describe('when a person releases from quarantine', () => {
    it('hands out what was released as the type that was subscribed, not as the one that its header claims', async ({
      inbox,
    }) => {
      const suspect = createArrival({
        type: 'transfers.rewritten',
        subscription: PLAIN_SUBSCRIPTION,
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
      assert.equal(
        await refusalOf(inbox.act(id, 'release', 'ann')),
        `the same callback is entry ${storedId}, handled`,
      )
      assert.equal(await stateOf(inbox, id), 'quarantined')
    })

    it('releases one of two repeats, and not the other', async ({ inbox }) => {
      const suspect = createArrival({ suspicion: 'stale' })
      const { id } = await inbox.add(suspect)
      const { id: repeatId } = await inbox.add(signedAnew(suspect))
      await done(inbox.act(id, 'release', 'ann'))
      assert.equal(
        await refusalOf(inbox.act(repeatId, 'release', 'ann')),
        `the same callback is entry ${id}, stored`,
      )
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
      await done(inbox.act(id, 'release', 'ann', { again: true }))
      assert.deepEqual(new Set(idsOf(await claimDue(inbox, ANY))), new Set([firstId, id]))
      assert.deepEqual(await inbox.add(conflict), { result: 'duplicate', id })
      assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id: firstId })
    })

    it('releases one of two conflicts with the same body, and not the other', async ({ inbox }) => {
      const arrival = createArrival()
      const conflict = withAnotherBody(arrival)
      await inbox.add(arrival)
      const { id } = await inbox.add(conflict)
      const { id: repeatId } = await inbox.add(signedAnew(conflict))
      await done(inbox.act(id, 'release', 'ann', { again: true }))
      assert.match(
        (await refusalOf(inbox.act(repeatId, 'release', 'ann')))!,
        / is (that of )?entry \S+, stored$/,
      )
    })

    it('releases what came under another key, which only counts copies', async ({ inbox }) => {
      const arrival = createArrival()
      const replay = underAnotherKey(arrival)
      await inbox.add(arrival)
      const { id } = await inbox.add(replay)
      await done(inbox.act(id, 'release', 'ann', { again: true }))
      assert.equal((await claimDue(inbox, ANY)).length, 2)
      assert.deepEqual(await inbox.add(replay), { result: 'duplicate', id })
    })
  })
}
