import assert from 'node:assert/strict'
import {
  createDelivery,
  signedAnew,
  underAnotherKey,
  withAnotherBody,
  claimed,
  stateOf,
} from './deliveries.js'
import type { Suite } from './suite.js'

export function registerReleasing({ describe, it }: Suite): void {
  describe('once a claim is released', () => {
    it('lets the key be claimed again at once', async ({ store }) => {
      const delivery = createDelivery()
      await (await claimed(store, delivery)).release()
      assert.equal(await stateOf(store, delivery), 'claimed')
    })

    it('has forgotten the body', async ({ store }) => {
      const delivery = createDelivery()
      await (await claimed(store, delivery)).release()
      assert.equal(await stateOf(store, withAnotherBody(delivery)), 'claimed')
    })

    // Otherwise a captured delivery that is sent with a new key, and fails, would block the genuine one.
    it('has forgotten the signature', async ({ store }) => {
      const delivery = createDelivery()
      await (await claimed(store, underAnotherKey(delivery))).release()
      assert.equal(await stateOf(store, delivery), 'claimed')
    })

    it('has forgotten the signature of a delivery that came while it was in progress', async ({ store }) => {
      const delivery = createDelivery()
      const claim = await claimed(store, delivery)
      const retry = signedAnew(delivery)
      await store.claim(retry)
      await claim.release()
      assert.equal(await stateOf(store, underAnotherKey(retry)), 'claimed')
    })

    it('lets it not complete what somebody else holds since', async ({ store }) => {
      const delivery = createDelivery()
      const first = await claimed(store, delivery)
      await first.release()
      const second = await claimed(store, delivery)
      assert.equal(await first.complete(), false)
      assert.equal(await stateOf(store, delivery), 'in-progress')
      assert.equal(await second.complete(), true)
    })

    it('lets it not release what somebody else holds since', async ({ store }) => {
      const delivery = createDelivery()
      const first = await claimed(store, delivery)
      await first.release()
      await claimed(store, delivery)
      await first.release()
      assert.equal(await stateOf(store, delivery), 'in-progress')
    })
  })
}
