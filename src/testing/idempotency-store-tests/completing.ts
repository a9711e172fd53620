import assert from 'node:assert/strict'
import {
  SHORT,
  RETENTION,
  createDelivery,
  signedAnew,
  underAnotherKey,
  withAnotherBody,
  claimed,
  completed,
  stateOf,
} from './deliveries.js'
import type { Suite } from './suite.js'

export function registerCompleting({ describe, it }: Suite): void {
  describe('once a claim is completed', () => {
    it('says so to the one who completes it', async ({ store }) => {
      assert.equal(await (await claimed(store, createDelivery())).complete(), true)
    })

    it('says completed to the same delivery', async ({ store }) => {
      const delivery = await completed(store)
      assert.equal(await stateOf(store, delivery), 'completed')
    })

    it('says completed to a delivery that was signed anew', async ({ store }) => {
      const delivery = await completed(store)
      assert.equal(await stateOf(store, signedAnew(delivery)), 'completed')
    })

    it('says conflict to another body under the key', async ({ store }) => {
      const delivery = await completed(store)
      assert.equal(await stateOf(store, withAnotherBody(delivery)), 'conflict')
    })

    it('says replay to the signature under another key', async ({ store }) => {
      const delivery = await completed(store)
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
    })

    it('says conflict where replay is true as well', async ({ store }) => {
      const delivery = await completed(store)
      const other = await completed(store)
      assert.equal(await stateOf(store, { ...delivery, key: other.key }), 'conflict')
    })

    it('says replay to the signature under a key that is completed with the same body', async ({ store }) => {
      const delivery = await completed(store)
      const sameBody = await completed(store, underAnotherKey(signedAnew(delivery)))
      assert.equal(await stateOf(store, { ...sameBody, signature: delivery.signature }), 'replay')
    })

    it('says replay to the signature of a delivery that came while it was in progress', async ({ store }) => {
      const delivery = createDelivery()
      const claim = await claimed(store, delivery)
      const retry = signedAnew(delivery)
      await store.claim(retry)
      await claim.complete()
      assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
    })

    it('says replay to the signature of a delivery that came afterwards', async ({ store }) => {
      const delivery = await completed(store)
      const retry = signedAnew(delivery)
      await store.claim(retry)
      assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
      assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      assert.equal(await stateOf(store, delivery), 'completed')
    })

    it('stays completed when it is released afterwards', async ({ store }) => {
      const delivery = createDelivery()
      const claim = await claimed(store, delivery)
      await claim.complete()
      await claim.release()
      assert.equal(await stateOf(store, delivery), 'completed')
    })

    it('stays completed beyond the lease', async ({ store, advance }) => {
      const delivery = await completed(store, createDelivery({ leaseMs: SHORT }))
      await advance(SHORT * 2)
      assert.equal(await stateOf(store, delivery), 'completed')
    })
  })

  describe('remembers what is completed for its retention', () => {
    it(
      'and not less',
      async ({ store, advance }) => {
        const delivery = await completed(store)
        await advance(RETENTION / 2)
        assert.equal(await stateOf(store, delivery), 'completed')
      },
      RETENTION,
    )

    it(
      'counted from the completion, not from the claim',
      async ({ store, advance }) => {
        const delivery = createDelivery()
        const claim = await claimed(store, delivery)
        await advance(RETENTION * 0.75)
        await claim.complete()
        await advance(RETENTION / 2)
        assert.equal(await stateOf(store, delivery), 'completed')
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'replay')
      },
      RETENTION,
    )

    it(
      'counted from the latest delivery that was signed anew',
      async ({ store, advance }) => {
        const retry = signedAnew(await completed(store))
        await advance(RETENTION * 0.75)
        await store.claim(retry)
        await advance(RETENTION / 2)
        assert.equal(await stateOf(store, retry), 'completed')
        assert.equal(await stateOf(store, underAnotherKey(retry)), 'replay')
      },
      RETENTION,
    )

    it(
      'and then lets the key be claimed again',
      async ({ store, advance }) => {
        const delivery = await completed(store)
        await advance(RETENTION * 1.1)
        assert.equal(await stateOf(store, withAnotherBody(delivery)), 'claimed')
      },
      RETENTION,
    )

    it(
      'and then lets the signature be claimed again',
      async ({ store, advance }) => {
        const delivery = await completed(store)
        await advance(RETENTION * 1.1)
        assert.equal(await stateOf(store, underAnotherKey(delivery)), 'claimed')
      },
      RETENTION,
    )
  })
}
