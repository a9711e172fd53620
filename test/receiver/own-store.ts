import type { IdempotencyStore } from '../../src/index.js'

/** A store that is not the memory store, for receivers that handle nothing. */
export function testStore(): IdempotencyStore {
  return {
    retentionMs: Number.MAX_SAFE_INTEGER,
    claim() {
      throw new Error('nothing is claimed')
    },
  }
}
