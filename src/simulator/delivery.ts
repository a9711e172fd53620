import type { Authenticity, Fault, FaultKind, FaultName } from './fault.js'
import type { ServiceSubscription } from './subscription-book.js'

/** Which callback is delivered, and how. */
export interface DeliverOptions {
  /** @default the latest one; with `eventTypeName`, the latest one of that name */
  readonly subscription?: ServiceSubscription | undefined
  /** Delivers to the latest subscription of this event type. @default undefined, which means the latest one of any type */
  readonly eventTypeName?: string | undefined
  /** The payload of the body, as JSON. @default { Id: a UUID from the seed } */
  readonly payload?: unknown
  /** The body itself, instead of `payload`. A string is encoded as UTF-8. @default the JSON of `payload` */
  readonly body?: Uint8Array | string | undefined
  /** @default a UUID from the seed */
  readonly idempotencyKey?: string | undefined
  /** When it is signed: a Date, or the exact text of an HTTP date. @default now, by the simulator's clock */
  readonly timestamp?: Date | string | undefined
  /** @default none: a callback as the service would send it */
  readonly fault?: Fault | FaultName | undefined
  /** Replaces the retry policy of the simulator. `null`: no retries. @default that policy */
  readonly retry?: RetryPolicy | null | undefined
  /** Aborts the delivery; the promise rejects with the signal's reason. What was sent before is recorded. @default none */
  readonly signal?: AbortSignal | undefined
}

/** Options of the delivery of several callbacks. */
export interface DeliverManyOptions {
  /** How many are delivered at the same time. @default 1 */
  readonly concurrency?: number | undefined
  /** Delivers them in an order from the seed instead of the order of the list. @default false */
  readonly shuffle?: boolean | undefined
}

/** How the service retries a callback that was not delivered. The service's documentation does not describe it. */
export interface RetryPolicy {
  /** The delay before each further attempt, in milliseconds. */
  readonly delaysMs: readonly number[]
  /** Whether a further attempt has the timestamp and signature of the first one, or is signed again. */
  readonly timestamp: 'first' | 'fresh'
  /** @default 2xx */
  readonly isDelivered?: ((status: number) => boolean) | undefined
}

/** Whether an answer accepts a callback, unless a RetryPolicy says otherwise: 2xx. */
export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300
}

/** One callback, and all requests by which it was delivered. */
export interface Delivery {
  /** From 1, in the order of the calls. */
  readonly number: number
  /** The X-Idempotency-Key of the callback. A fault may send another one: see the attempts. */
  readonly idempotencyKey: string
  /** The subscription's event type. */
  readonly eventType: string
  readonly fault: FaultKind | undefined
  readonly subscription: ServiceSubscription
  /** What was signed. */
  readonly body: Buffer
  /** Whether it has to be handled. False if every attempt is suspect or forged. */
  readonly genuine: boolean
  /** In the order in which they ended. Grows while the delivery is in progress. */
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
  /** Undefined if there was no answer; `error` says why. */
  readonly status: number | undefined
  /** The headers of the answer, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body of the answer. */
  readonly body: Buffer
  /**
   * Why there is no answer: a code such as ECONNREFUSED or ERR_RESPONSE_TIMEOUT; CUT if the simulator closed the
   * connection; CLOSED if the simulator was closed.
   */
  readonly error?: string
  readonly durationMs: number
}
