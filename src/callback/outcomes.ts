import type { EntryId, VerifiedCallback } from './callback.js'

/** What became of a callback, in one word. */
export type OutcomeName =
  'handled' | 'stored' | 'duplicate' | 'unhandled' | 'quarantined' | 'refused' | 'failed' | 'unavailable'

interface OutcomeRow {
  readonly status: number
  readonly outcome: OutcomeName
  /** For the log line; it goes to the operator, never to the sender. */
  readonly reason: string
  /** Whether the answer says when to come back. */
  readonly retryAfter?: true
  /** Where a callback that was verified ends differently because an inbox keeps it. */
  readonly withInbox?: { readonly status: 200; readonly outcome: OutcomeName }
}

/**
 * What becomes of every kind of callback, and the answer it gets. The same table stands in docs/outcomes.md; a test holds
 * the two together. A 2xx means: verified, and handled, stored or seen before.
 */
export const OUTCOMES = {
  HANDLED: { status: 200, outcome: 'handled', reason: 'every handler finished' },
  STORED: { status: 200, outcome: 'stored', reason: 'durable in the inbox; a worker handles it' },
  DUPLICATE: { status: 200, outcome: 'duplicate', reason: 'handled or stored before' },

  ERR_METHOD_NOT_ALLOWED: { status: 405, outcome: 'refused', reason: 'a callback is a POST' },
  ERR_HEADERS_TOO_MANY: {
    status: 431,
    outcome: 'refused',
    reason: 'so many header lines that Node may have dropped some: 1,000, or server.maxHeadersCount',
  },
  ERR_BODY_ENCODED: {
    status: 415,
    outcome: 'refused',
    reason: 'the body has a Content-Encoding, and what is signed is not certain to be what would be decoded',
  },
  ERR_BODY_TOO_LARGE: { status: 413, outcome: 'refused', reason: 'the body is larger than maxBodyBytes' },
  ERR_BODY_TIMEOUT: { status: 408, outcome: 'refused', reason: 'the body took longer than bodyTimeoutMs' },
  ERR_BODY_ABORTED: {
    status: 400,
    outcome: 'refused',
    reason: 'the sender hung up before the body was complete',
  },
  ERR_BODY_MEMORY_FULL: {
    status: 503,
    outcome: 'refused',
    reason: 'the bodies of all unfinished requests together take maxBufferedBytes',
    retryAfter: true,
  },
  // Not a 500: the request is unauthenticated, as nothing can be verified without the bytes. A genuine sender comes again.
  ERR_BODY_ALREADY_READ: {
    status: 503,
    outcome: 'unavailable',
    reason:
      'the body was read before Countersign, so the signed bytes are gone. A parser such as express.json() runs ahead: ' +
      'mount the receiver before it, or have the parser keep the bytes: express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes } })',
    retryAfter: true,
  },

  ERR_AUTHORIZATION_MISSING: { status: 401, outcome: 'refused', reason: 'no Authorization header' },
  ERR_AUTHORIZATION_REPEATED: {
    status: 401,
    outcome: 'refused',
    reason: 'more than one Authorization header',
  },
  ERR_AUTHORIZATION_MALFORMED: {
    status: 401,
    outcome: 'refused',
    reason: 'Authorization is not HMAC-SHA256 Signature= and 44 characters of Base64',
  },
  ERR_TIMESTAMP_MISSING: { status: 401, outcome: 'refused', reason: 'no Authorization-Timestamp header' },
  ERR_TIMESTAMP_REPEATED: {
    status: 401,
    outcome: 'refused',
    reason: 'more than one Authorization-Timestamp header',
  },
  ERR_TIMESTAMP_MALFORMED: {
    status: 401,
    outcome: 'refused',
    reason: 'Authorization-Timestamp is no HTTP date',
  },
  ERR_SIGNATURE_MISMATCH: {
    status: 401,
    outcome: 'refused',
    reason:
      'no subscription gives this signature: a forgery, or callbackUrl or secret differ from what was subscribed',
  },
  ERR_TIMESTAMP_OUT_OF_TOLERANCE: {
    status: 401,
    outcome: 'refused',
    reason: 'genuine, but signed longer ago than toleranceMs or further ahead than futureToleranceMs',
    withInbox: { status: 200, outcome: 'quarantined' },
  },
  ERR_EVENT_TYPE_MISMATCH: {
    status: 401,
    outcome: 'refused',
    reason:
      'X-Event-Type, which is not signed, is not the eventTypeName of the subscription whose secret matched',
    withInbox: { status: 200, outcome: 'quarantined' },
  },

  ERR_EVENT_TYPE_MISSING: {
    status: 400,
    outcome: 'refused',
    reason: 'no X-Event-Type header, or more than one',
  },
  ERR_IDEMPOTENCY_KEY_MISSING: {
    status: 400,
    outcome: 'refused',
    reason: 'no X-Idempotency-Key header, or more than one',
  },
  ERR_IDEMPOTENCY_KEY_MALFORMED: { status: 400, outcome: 'refused', reason: 'X-Idempotency-Key is no UUID' },
  ERR_BODY_NOT_JSON: {
    status: 400,
    outcome: 'refused',
    reason: 'genuine, but the body is no JSON object in UTF-8',
    withInbox: { status: 200, outcome: 'quarantined' },
  },

  ERR_CALLBACK_IN_PROGRESS: {
    status: 409,
    outcome: 'refused',
    reason: 'the same callback is still being handled',
    retryAfter: true,
  },
  ERR_IDEMPOTENCY_KEY_REUSED: {
    status: 409,
    outcome: 'refused',
    reason: 'genuine, but the idempotency key belongs to a callback with another body',
    withInbox: { status: 200, outcome: 'quarantined' },
  },
  ERR_SIGNATURE_REPLAYED: {
    status: 409,
    outcome: 'refused',
    reason:
      'the signature belongs to a callback with another idempotency key: a replay of a captured delivery',
    withInbox: { status: 200, outcome: 'quarantined' },
  },

  ERR_HANDLER_MISSING: {
    status: 500,
    outcome: 'failed',
    reason: 'no handler is registered for this event type: register one with on(), onAny() or onUnhandled()',
    withInbox: { status: 200, outcome: 'unhandled' },
  },
  ERR_HANDLER_FAILED: { status: 500, outcome: 'failed', reason: 'a handler threw' },
  ERR_HANDLER_TIMEOUT: { status: 500, outcome: 'failed', reason: 'a handler took longer than its time-out' },
  ERR_PAYLOAD_INVALID: {
    status: 500,
    outcome: 'failed',
    reason: 'the payload does not fit the schema of its event type',
  },
  ERR_INTERNAL: { status: 500, outcome: 'failed', reason: 'an unexpected error in Countersign itself' },

  ERR_CLAIM_LOST: {
    status: 503,
    outcome: 'unavailable',
    reason: 'the lease ran out, or too little was left of it, before the handlers had begun or finished',
    retryAfter: true,
  },
  ERR_STORE_UNAVAILABLE: {
    status: 503,
    outcome: 'unavailable',
    reason: 'the idempotency store did not answer',
    retryAfter: true,
  },
  ERR_INBOX_UNAVAILABLE: {
    status: 503,
    outcome: 'unavailable',
    reason: 'the inbox could not be written',
    retryAfter: true,
  },
  ERR_SUBSCRIPTIONS_UNAVAILABLE: {
    status: 503,
    outcome: 'unavailable',
    reason: 'the subscriptions function failed',
    retryAfter: true,
  },
  ERR_SHUTTING_DOWN: {
    status: 503,
    outcome: 'unavailable',
    reason: 'the receiver is stopping',
    retryAfter: true,
  },
} as const satisfies Record<string, OutcomeRow>

export type OutcomeCode = keyof typeof OUTCOMES

/** What became of one callback: a row of the table, and what is known of the callback. */
export interface Outcome {
  readonly code: OutcomeCode
  readonly outcome: OutcomeName
  readonly status: number
  /** For the operator, never for the sender. */
  readonly reason: string
  /** Only when the signature matched. */
  readonly callback?: VerifiedCallback | undefined
  /** What went wrong underneath, where something did. */
  readonly error?: unknown
  /** The entry that keeps the callback, when it is in an inbox. */
  readonly entry?: EntryId | undefined
  /** Only when an attempt of a worker failed: its number, from 1. */
  readonly attempt?: number | undefined
}

export function outcome(code: OutcomeCode, callback?: VerifiedCallback, error?: unknown): Outcome {
  const { status, outcome, reason } = OUTCOMES[code]
  return { code, outcome, status, reason, callback, error }
}

/** The same for a callback that is in the inbox. */
export function inboxOutcome(code: OutcomeCode, callback: VerifiedCallback, entry: EntryId): Outcome {
  const row: OutcomeRow = OUTCOMES[code]
  return { ...outcome(code, callback), ...row.withInbox, entry }
}

/** An attempt of a worker that failed. Its callback was answered 200 when it was stored. */
export function attemptOutcome(
  code: OutcomeCode,
  { callback, entry, attempt }: { callback: VerifiedCallback; entry: EntryId; attempt: number },
  error: unknown,
): Outcome {
  return { ...outcome(code, callback, error), outcome: 'failed', status: 200, entry, attempt }
}
