import assert from 'node:assert/strict'
import {
  LONG,
  SHORT,
  createDelivery,
  copies,
  signedAnew,
  underAnotherKey,
  withAnotherBody,
  claimed,
  stateOf,
  statesOf,
  countEach,
} from './deliveries.js'
import type { Suite } from './suite.js'

export function registerClaiming({ describe, it }: Suite): void {
  describe('of concurrent callers', () => {
    it('gives a key to exactly one', async ({ store }) => {
      const delivery = createDelivery()
      const states = await statesOf(store, copies(300, delivery))
      assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
    })

    it('gives a key to exactly one when each has signed anew', async ({ store }) => {
      const delivery = createDelivery()
      const states = await statesOf(
        store,
        Array.from({ length: 300 }, () => signedAnew(delivery)),
      )
      assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
    })

    it('gives a key to exactly one when bodies differ', async ({ store }) => {
      const { key } = createDelivery()
      const states = await statesOf(
        store,
        Array.from({ length: 300 }, () => ({ ...createDelivery(), key })),
      )
      assert.deepEqual(countEach(states), { claimed: 1, conflict: 299 })
    })

    it('gives a signature to exactly one when keys differ', async ({ store }) => {
      const delivery = createDelivery()
      const states = await statesOf(
        store,
        Array.from({ length: 300 }, () => underAnotherKey(delivery)),
      )
      assert.deepEqual(countEach(states), { claimed: 1, replay: 299 })
    })

    it('gives a released key to exactly one', async ({ store }) => {
      const delivery = createDelivery()
      await (await claimed(store, delivery)).release()
      const states = await statesOf(store, copies(300, delivery))
      assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
    })

    it('gives a key whose lease ran out to exactly one', async ({ store, advance }) => {
      const delivery = createDelivery({ leaseMs: SHORT })
      await claimed(store, delivery)
      await advance(SHORT)
      const states = await statesOf(store, copies(300, { ...delivery, leaseMs: LONG }))
      assert.deepEqual(countEach(states), { claimed: 1, 'in-progress': 299 })
    })

    it('gives different keys to all', async ({ store }) => {
      const states = await statesOf(
        store,
        Array.from({ length: 300 }, () => createDelivery()),
      )
      assert.deepEqual(countEach(states), { claimed: 300 })
    })
  })

  describe('while a claim is held', () => {
    it('says in-progress to the same delivery', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      assert.equal(await stateOf(store, delivery), 'in-progress')
    })

    it('says in-progress to a delivery that was signed anew', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      assert.equal(await stateOf(store, signedAnew(delivery)), 'in-progress')
    })

    it('says conflict to another body under the key', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      assert.equal(await stateOf(store, withAnotherBody(delivery)), 'conflict')
    })

    it('says replay to the signature under another key', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
    })

    it('says replay to the signature of a later delivery under another key', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      const retry = signedAnew(delivery)
      await store.claim(retry)
      assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
    })

    it('says conflict where replay is true as well', async ({ store }) => {
      const delivery = createDelivery()
      const other = createDelivery()
      await claimed(store, delivery)
      await claimed(store, other)
      assert.equal(await stateOf(store, { ...delivery, key: other.key }), 'conflict')
    })

    it('says replay to the signature under a key that is in progress with the same body', async ({
      store,
    }) => {
      const delivery = createDelivery()
      const sameBody = underAnotherKey(signedAnew(delivery))
      await claimed(store, delivery)
      await claimed(store, sameBody)
      assert.equal(await stateOf(store, { ...sameBody, signature: delivery.signature }), 'replay')
    })

    it('does not take what it refused for a delivery', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      const conflict = withAnotherBody(delivery)
      await store.claim(conflict)
      const replay = underAnotherKey(delivery)
      await store.claim(replay)
      assert.equal(await stateOf(store, underAnotherKey(conflict)), 'claimed')
      assert.equal(await stateOf(store, { ...createDelivery(), key: replay.key }), 'claimed')
    })

    it('lets the same body pass under another key', async ({ store }) => {
      const delivery = createDelivery()
      await claimed(store, delivery)
      assert.equal(await stateOf(store, underAnotherKey(signedAnew(delivery))), 'claimed')
    })

    it('lets the same idempotency key and body pass for another subscription', async ({ store }) => {
      const [delivery, other] = [createDelivery(), createDelivery()]
      const idempotencyKey = delivery.key.split('@', 1)[0]
      await claimed(store, { ...delivery, key: `${idempotencyKey}@tenant-1` })
      const ofOther = { ...other, key: `${idempotencyKey}@tenant-2`, bodyHash: delivery.bodyHash }
      assert.equal(await stateOf(store, ofOther), 'claimed')
    })

    it('keeps keys of thousands of characters apart', async ({ store }) => {
      const long = 'k'.repeat(3000)
      await claimed(store, createDelivery({ key: `${long}1` }))
      assert.equal(await stateOf(store, createDelivery({ key: `${long}2` })), 'claimed')
    })
  })
}
