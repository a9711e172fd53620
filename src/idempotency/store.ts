/**
 * Remembers which callbacks have been handled, so that each is handled once.
 *
 * Every method is one atomic step: of any number of concurrent callers, in any number of processes that share the
 * store, exactly one gets the claim. A method that fails must throw or reject. The sender then gets 503 with Retry-After,
 * because a result that is not certain must not be returned. A store in memory may return its results without a promise.
 *
 * `registerIdempotencyStoreTests` of `countersign/testing` tests a store for all of this.
 */
export interface IdempotencyStore {
  /**
   * How long a completed key is remembered, in milliseconds, counted from its latest completion. Must be at least
   * the receiver's `toleranceMs` plus `futureToleranceMs`: a callback that is still accepted must still be remembered.
   */
  readonly retentionMs: number

  /**
   * Optional. Checks that the store can be used, and warns of what may make it forget completed keys. `receiver.start()`
   * calls it, and rejects if it rejects or takes longer than `dependencyTimeoutMs`. A receiver that is not started does not
   * call it, so `claim` must not depend on it. Must be safe to call several times.
   */
  open?(): Promise<void>

  /** Claims the key if it is neither claimed nor completed. */
  claim(request: ClaimRequest): ClaimResult | Promise<ClaimResult>

  /** Releases timers and connections. The receiver does not call it: the code that created the store closes it. */
  close?(): Promise<void>
}

/** A callback whose key is to be claimed. */
export interface ClaimRequest {
  /**
   * Identifies the callback: the X-Idempotency-Key in lower case, followed by `@` and the id of its subscription, because
   * the service does not document whether a key is unique across subscriptions. At most a few thousand characters.
   * For a probe of `countersign doctor`: its nonce, followed by `@countersign-probe`. Such a claim is never ended.
   */
  readonly key: string
  /** SHA-256 of the body, Base64 (44 characters). Two bodies with one key are a conflict. */
  readonly bodyHash: string
  /**
   * The callback's HMAC, Base64 (44 characters). The HMAC does not cover the key. Therefore the same signature with
   * another key is a replay of a captured delivery.
   */
  readonly signature: string
  /**
   * After this many milliseconds a claim that was neither completed nor released expires, and the key can be claimed
   * again.
   */
  readonly leaseMs: number
}

/** The answer of a store to a claim. */
export type ClaimResult =
  | { readonly state: 'claimed'; readonly claim: Claim }
  /** Same key, same body: another caller holds an unexpired claim. */
  | { readonly state: 'in-progress' }
  /**
   * Same key, same body: completed before. If the signature is new (a repeat that was signed again), the store remembers
   * it for this key for `retentionMs` from now on, and the key as well, so that this signature cannot be replayed.
   */
  | { readonly state: 'completed' }
  /** The key is claimed or completed with another body. */
  | { readonly state: 'conflict' }
  /** The signature is claimed or completed with another key. */
  | { readonly state: 'replay' }

/** The right to handle one callback, until it is completed or released, or its lease expires. */
export interface Claim {
  /** How often this key has been claimed, this time included, as far as the store remembers; from 1. */
  readonly attempt: number
  /**
   * Records that the callback was handled. The result is `false`, and nothing is changed, if the lease has expired and another
   * caller has claimed or completed the key since. This fencing prevents that a late caller overwrites a newer result.
   */
  complete(): boolean | Promise<boolean>
  /** Releases the key unhandled. It can be claimed again immediately. No effect if the claim was lost. */
  release(): void | Promise<void>
}
