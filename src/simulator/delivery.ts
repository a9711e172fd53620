import type { Authenticity, Fault, FaultKind, FaultName } from './fault.js'
import type { ServiceSubscription } from './subscription-book.js'

export interface DeliverOptions {
  /** @default the latest one; with `eventTypeName`, the latest one of that name */
  readonly subscription?: ServiceSubscription | undefined
  readonly eventTypeName?: string | undefined
  /** What the body says, as JSON. @default { Id: a UUID of the seed } */
  readonly payload?: unknown
  /** The body itself, instead of `payload`; a string stands for its UTF-8 bytes. */
  readonly body?: Uint8Array | string | undefined
  /** @default a UUID of the seed */
  readonly idempotencyKey?: string | undefined
  /** When it is signed: a moment, or the exact text of an HTTP date. @default now, by the simulator's clock */
  readonly timestamp?: Date | string | undefined
  /** @default none: as the service would send it */
  readonly fault?: Fault | FaultName | undefined
  /** Instead of the simulator's own. `null`: none. */
  readonly retry?: RetryPolicy | null | undefined
  /** Gives up at once; the promise rejects with the signal's reason. What was sent until then is recorded. */
  readonly signal?: AbortSignal | undefined
}

export interface DeliverManyOptions {
  /** How many are delivered at a time. @default 1 */
  readonly concurrency?: number | undefined
  /** Delivers them in an order of the seed, not in that of the list. @default false */
  readonly shuffle?: boolean | undefined
}

/** How the service retries a callback that was not delivered. Its documentation does not show this (SERVICE 6). */
export interface RetryPolicy {
  /** The delays before each further attempt, in milliseconds. */
  readonly delaysMs: readonly number[]
  /** Whether a further attempt has the first one's timestamp and signature, or is signed anew. */
  readonly timestamp: 'first' | 'fresh'
  /** @default 2xx */
  readonly isDelivered?: ((status: number) => boolean) | undefined
}

/** One callback, and all requests by which it was delivered. */
export interface Delivery {
  /** From 1, in the order of the calls. */
  readonly number: number
  /** The one it was meant for. A fault may put another one on the wire: see the attempts. */
  readonly idempotencyKey: string
  /** The subscription's event type. */
  readonly eventType: string
  readonly fault: FaultKind | undefined
  readonly subscription: ServiceSubscription
  /** What was signed. */
  readonly body: Buffer
  /** Whether it is to be handled. False where every attempt is suspect or forged. */
  readonly genuine: boolean
  /** In the order in which they ended. Grows while the delivery is under way. */
  readonly attempts: readonly Attempt[]
}

/** One request, and what the receiver answered. */
export interface Attempt {
  /** X-Idempotency-Key as sent. */
  readonly idempotencyKey: string
  /** X-Event-Type as sent. */
  readonly eventType: string
  readonly authenticity: Authenticity
  /** Sent by the retry policy: the callback without its fault. */
  readonly isRetry: boolean
  /** Authorization-Timestamp as sent. */
  readonly timestamp: string
  /** Undefined when there was no answer; `error` says why. */
  readonly status: number | undefined
  /** The answer's, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The answer's. */
  readonly body: Buffer
  /**
   * Why there is no answer: a code such as ECONNREFUSED or ERR_RESPONSE_TIMEOUT, or CUT where the simulator hung up, or
   * CLOSED where it was closed.
   */
  readonly error?: string
  readonly durationMs: number
}
