/**
 * Remembers which callbacks have been handled, so that each is handled once.
 *
 * Every method is one atomic step: of any number of concurrent callers, in any number of processes that share the
 * store, exactly one gets the claim. A method that cannot do its work rejects; the sender is then told to come back
 * (503), as an answer that is not certain must not be given.
 *
 * `registerIdempotencyStoreTests` of `countersign/testing` holds a store to all of this.
 */
export interface IdempotencyStore {
  /**
   * How long a completed key is remembered, in milliseconds, counted from its latest completion. Must be at least
   * the receiver's `toleranceMs` plus `futureToleranceMs`: what is still accepted must still be remembered.
   */
  readonly retentionMs: number

  /** Takes the key if nobody holds it and nobody has completed it. */
  claim(request: ClaimRequest): Promise<ClaimResult>

  /** Lets go of timers and connections. The receiver does not call it: whoever made the store closes it. */
  close?(): Promise<void>
}

export interface ClaimRequest {
  /**
   * What identifies the callback: the X-Idempotency-Key in lower case, followed by `@` and the id of its subscription, as
   * the service does not say whether a key is unique across subscriptions. At most a few thousand characters.
   */
  readonly key: string
  /** SHA-256 of the body, Base64 (44 characters). Two bodies under one key are a conflict. */
  readonly bodyHash: string
  /**
   * The callback's HMAC, Base64 (44 characters). The key is not signed, the material behind the HMAC is: the same
   * signature under another key is a replay of a captured delivery.
   */
  readonly signature: string
  /** After this many milliseconds a claim that was neither completed nor released is anybody's again. */
  readonly leaseMs: number
}

export type ClaimResult =
  | { readonly state: 'claimed'; readonly claim: Claim }
  /** Same key, same body: somebody holds an unexpired claim. */
  | { readonly state: 'in-progress' }
  /**
   * Same key, same body: completed before. A signature that is new (a retry that was signed anew) is remembered as
   * belonging to this key for `retentionMs` from here on, and the key with it, so that it cannot be replayed either.
   */
  | { readonly state: 'completed' }
  /** The key is claimed or completed with another body. */
  | { readonly state: 'conflict' }
  /** The signature is claimed or completed under another key. */
  | { readonly state: 'replay' }

/** The right to handle one callback, until it is completed, released, or its lease runs out. */
export interface Claim {
  /** How often this key has been claimed, this time included, as far as the store remembers; from 1. */
  readonly attempt: number
  /**
   * Records that the callback was handled. Resolves to `false`, and changes nothing, when the lease had run out and
   * somebody else has taken or completed the key since: the fencing that keeps a late finisher from overwriting.
   */
  complete(): Promise<boolean>
  /** Gives the key back unhandled; it may be claimed again at once. No effect once the claim was lost. */
  release(): Promise<void>
}
