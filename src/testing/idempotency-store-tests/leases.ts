import assert from 'node:assert/strict'
import {
  LONG,
  SHORT,
  createDelivery,
  signedAnew,
  underAnotherKey,
  withAnotherBody,
  claimed,
  completed,
  abandoned,
  stateOf,
} from './deliveries.js'
import type { Suite } from './suite.js'

export function registerLeases({ describe, it }: Suite): void {
  describe('once a lease has run out', () => {
    it('has held the key until then', async ({ store, advance }) => {
      const delivery = createDelivery({ leaseMs: SHORT * 2 })
      await claimed(store, delivery)
      await advance(SHORT)
      assert.equal(await stateOf(store, delivery), 'in-progress')
    })

    it('gives the key to the next who asks', async ({ store, advance }) => {
      const { delivery } = await abandoned(store, advance)
      assert.equal(await stateOf(store, delivery), 'claimed')
    })

    it('gives the key to another body', async ({ store, advance }) => {
      const { delivery } = await abandoned(store, advance)
      assert.equal(await stateOf(store, withAnotherBody(delivery)), 'claimed')
    })

    it('gives the signature to another key', async ({ store, advance }) => {
      const { delivery } = await abandoned(store, advance)
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'claimed')
    })

    it('gives the signature of a later delivery to another key', async ({ store, advance }) => {
      const delivery = createDelivery({ leaseMs: SHORT })
      await claimed(store, delivery)
      const retry = signedAnew(delivery)
      await store.claim(retry)
      await advance(SHORT)
      assert.equal(await stateOf(store, underAnotherKey(retry)), 'claimed')
    })

    it('keeps the late finisher from completing what somebody else holds', async ({ store, advance }) => {
      const { delivery, claim } = await abandoned(store, advance)
      const second = await claimed(store, { ...delivery, leaseMs: LONG })
      assert.equal(await claim.complete(), false)
      assert.equal(await stateOf(store, delivery), 'in-progress')
      assert.equal(await second.complete(), true)
    })

    it('keeps the late finisher from overwriting what somebody else has completed', async ({
      store,
      advance,
    }) => {
      const { delivery, claim } = await abandoned(store, advance)
      const other = withAnotherBody(delivery)
      await completed(store, other)
      assert.equal(await claim.complete(), false)
      assert.equal(await stateOf(store, other), 'completed')
      assert.equal(await stateOf(store, delivery), 'conflict')
    })

    it('keeps the late finisher from completing what somebody else has released', async ({
      store,
      advance,
    }) => {
      const { delivery, claim } = await abandoned(store, advance)
      await (await claimed(store, delivery)).release()
      assert.equal(await claim.complete(), false)
      assert.equal(await stateOf(store, delivery), 'claimed')
    })

    it('keeps the late finisher from releasing what somebody else holds', async ({ store, advance }) => {
      const { delivery, claim } = await abandoned(store, advance)
      await claimed(store, { ...delivery, leaseMs: LONG })
      await claim.release()
      assert.equal(await stateOf(store, delivery), 'in-progress')
    })

    it('keeps the late finisher from releasing a signature that another key holds', async ({
      store,
      advance,
    }) => {
      const { delivery, claim } = await abandoned(store, advance)
      await claimed(store, { ...underAnotherKey(delivery), leaseMs: LONG })
      await claim.release()
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
    })

    it('lets the late finisher complete when nobody has taken the key since', async ({ store, advance }) => {
      const { delivery, claim } = await abandoned(store, advance)
      assert.equal(await claim.complete(), true)
      assert.equal(await stateOf(store, delivery), 'completed')
      assert.equal(await stateOf(store, withAnotherBody(delivery)), 'conflict')
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
    })

    it('lets the late finisher release when nobody has taken the key since', async ({ store, advance }) => {
      const { delivery, claim } = await abandoned(store, advance)
      await claim.release()
      assert.equal((await claimed(store, delivery)).attempt, 2)
    })
  })
}
