import assert from 'node:assert/strict'
import { registerAttempts } from './idempotency-store-tests/attempts.js'
import { registerClaiming } from './idempotency-store-tests/claiming.js'
import { registerCompleting } from './idempotency-store-tests/completing.js'
import { createDelivery, LONG, stateOf } from './idempotency-store-tests/deliveries.js'
import { registerLeases } from './idempotency-store-tests/leases.js'
import { registerReleasing } from './idempotency-store-tests/releasing.js'
import type { StoreUnderTest, Suite } from './idempotency-store-tests/suite.js'
import { globalFramework, type TestFramework } from './test-framework.js'

export type { StoreUnderTest } from './idempotency-store-tests/suite.js'

/**
 * Registers the tests that every `IdempotencyStore` must pass.
 *
 * `createStore` is called once for each test. A store without a replaceable clock may wait in `advance`: all waits
 * together take less than a minute. A store that has `open` is opened before its test, and one that has `close` is closed
 * after it.
 */
export function registerIdempotencyStoreTests(
  createStore: (context: { retentionMs: number }) => Promise<StoreUnderTest> | StoreUnderTest,
  framework: TestFramework = globalFramework('registerIdempotencyStoreTests'),
): void {
  const { describe } = framework

  const it: Suite['it'] = (name, test, retentionMs = LONG) =>
    framework.it(name, async () => {
      const subject = await createStore({ retentionMs })
      try {
        await subject.store.open?.()
        await test(subject)
      } finally {
        await subject.store.close?.()
      }
    })

  const suite = { describe, it }

  describe('an idempotency store', () => {
    it('can be opened several times', async ({ store }) => {
      await store.open?.()
      assert.equal(await stateOf(store, createDelivery()), 'claimed')
      await store.open?.()
    })

    it('tells how long it remembers', async ({ store }) => {
      assert.equal(store.retentionMs, LONG)
    })

    registerClaiming(suite)
    registerCompleting(suite)
    registerReleasing(suite)
    registerLeases(suite)
    registerAttempts(suite)
  })
}
