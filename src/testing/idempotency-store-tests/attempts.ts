import assert from 'node:assert/strict'
import { createDelivery, withAnotherBody, claimed, abandoned } from './deliveries.js'
import type { Suite } from './suite.js'

export function registerAttempts({ describe, it }: Suite): void {
  describe('counts attempts', () => {
    it('from 1', async ({ store }) => {
      assert.equal((await claimed(store, createDelivery())).attempt, 1)
    })

    it('on after a release', async ({ store }) => {
      const delivery = createDelivery()
      await (await claimed(store, delivery)).release()
      await (await claimed(store, delivery)).release()
      assert.equal((await claimed(store, delivery)).attempt, 3)
    })

    it('on after a lease that ran out', async ({ store, advance }) => {
      const { delivery } = await abandoned(store, advance)
      assert.equal((await claimed(store, delivery)).attempt, 2)
    })

    it('not for those who do not get the claim', async ({ store }) => {
      const delivery = createDelivery()
      const claim = await claimed(store, delivery)
      await store.claim(delivery)
      await store.claim(withAnotherBody(delivery))
      await claim.release()
      assert.equal((await claimed(store, delivery)).attempt, 2)
    })

    it('not back when a lost claim is released', async ({ store, advance }) => {
      const { delivery, claim } = await abandoned(store, advance)
      await (await claimed(store, delivery)).release()
      await claim.release()
      assert.equal((await claimed(store, delivery)).attempt, 3)
    })

    it('of each key by itself', async ({ store }) => {
      await (await claimed(store, createDelivery())).release()
      assert.equal((await claimed(store, createDelivery())).attempt, 1)
    })
  })
}
