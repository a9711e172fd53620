import assert from 'node:assert/strict'
import { MOVES } from '../../../src/inbox/states.js'
import {
  ANY,
  claimDue,
  claimNext,
  countEach,
  createArrival,
  done,
  finishNext,
  PLAIN_SUBSCRIPTION,
  repeat,
  resultsOf,
  signedAnew,
  stateOf,
  underAnotherKey,
  withAnotherBody,
} from './entries.js'
import type { Suite } from './suite.js'

export function registerArriving({ describe, it }: Suite): void {
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
      // Only the events of the entry have the fingerprint.
      const { secretFingerprint: _, ...shown } = callback
      assert.deepEqual(
        {
          type: entry?.eventType,
          idempotencyKey: entry?.idempotencyKey,
          signedAt: entry?.signedAt,
          receivedAt: entry?.receivedAt,
          rawBody: entry?.rawBody,
          subscription: entry?.subscription,
        },
        shown,
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

    it('keeps one whose subscription has the default id and no description', async ({ inbox }) => {
      const { id } = await inbox.add(createArrival({ subscription: PLAIN_SUBSCRIPTION }))
      assert.deepEqual((await inbox.show(id))?.subscription, PLAIN_SUBSCRIPTION)
    })

    it('says duplicate to one that is stored', async ({ inbox }) => {
      const arrival = createArrival()
      const { id } = await inbox.add(arrival)
      assert.deepEqual(await inbox.add(arrival), { result: 'duplicate', id })
    })

    for (const move of ['complete', 'deadLetter', 'reschedule'] as const) {
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

    it('stores the same key and body of another subscription with the same type and URL', async ({
      inbox,
    }) => {
      const { callback } = createArrival()
      const ids = []
      for (const id of ['tenant-1', 'tenant-2']) {
        const subscription = { ...PLAIN_SUBSCRIPTION, id }
        const key = `${callback.idempotencyKey}@${id}`
        const arrival = createArrival({ callback: { ...callback, subscription }, key })
        const added = await inbox.add(arrival)
        assert.equal(added.result, 'stored')
        assert.equal((await inbox.show(added.id))?.subscription.id, id)
        assert.deepEqual(await inbox.add(signedAnew(arrival)), { result: 'duplicate', id: added.id })
        ids.push(added.id)
      }
      const claimed = await claimDue(inbox, ANY)
      assert.deepEqual(
        claimed.map(({ id, callback: { subscription } }) => [id, subscription.id]),
        [
          [ids[0], 'tenant-1'],
          [ids[1], 'tenant-2'],
        ],
      )
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

    it('quarantines under another key the signature of a repeat that was signed anew', async ({ inbox }) => {
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
      assert.equal((await inbox.stats()).counts.quarantined, 1)
    })

    it('keeps one entry for a signature that is replayed under many keys', async ({ inbox }) => {
      const arrival = createArrival()
      await inbox.add(arrival)
      for (let i = 0; i < 5; i++) await inbox.add(underAnotherKey(arrival))
      assert.equal((await inbox.stats()).counts.quarantined, 1)
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
      assert.equal((await inbox.stats()).counts.stored, 1000)
    })
  })
}
