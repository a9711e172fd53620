import {
  MemoryIdempotencyStore,
  type Claim,
  type ClaimResult,
  type IdempotencyStore,
} from '../../src/index.js'

/**
 * In memory, but a receiver does not know that. Several receivers share it, or each has its own, as after the loss of what was
 * remembered.
 */
export const sharedStore = () => storeWith({})

export interface StoreSteps {
  claim(take: () => Promise<ClaimResult>): Promise<ClaimResult>
  complete(record: () => Promise<boolean>): Promise<boolean>
  release(giveBack: () => Promise<void>): Promise<void>
}

/** A memory store some of whose steps are replaced: to be slow, to fail, or to be looked at. */
export function storeWith(
  steps: Partial<StoreSteps>,
  inner: IdempotencyStore = new MemoryIdempotencyStore(),
) {
  const {
    claim = (take) => take(),
    complete = (record) => record(),
    release = (giveBack) => giveBack(),
  } = steps
  const wrapped = (taken: Claim): Claim => ({
    attempt: taken.attempt,
    complete: () => complete(async () => taken.complete()),
    release: () => release(async () => taken.release()),
  })
  const store: IdempotencyStore = {
    retentionMs: inner.retentionMs,
    claim: (request) =>
      claim(async () => {
        const result = await inner.claim(request)
        return result.state === 'claimed' ? { state: 'claimed', claim: wrapped(result.claim) } : result
      }),
  }
  return store
}
