import type { IdempotencyStore } from '../../idempotency/store.js'
import type { TestFramework } from '../test-framework.js'

/** A store, and a way to let time pass for it. */
export interface StoreUnderTest {
  /** An empty store with the requested `retentionMs`. */
  readonly store: IdempotencyStore
  /** Advances the store's clock by so many milliseconds, or waits for this time. */
  readonly advance: (ms: number) => Promise<void> | void
}

/** Where tests are registered. `it` is given a store of its own, open, and closed afterwards. */
export interface Suite {
  readonly describe: TestFramework['describe']
  readonly it: (name: string, test: (subject: StoreUnderTest) => Promise<void>, retentionMs?: number) => void
}
