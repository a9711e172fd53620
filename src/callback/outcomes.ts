import type { EntryId, VerifiedCallback } from './callback.js'

/** The result of a callback, in one word. */
export type OutcomeName =
  'handled' | 'stored' | 'duplicate' | 'unhandled' | 'quarantined' | 'refused' | 'failed' | 'unavailable'

interface OutcomeRow {
  readonly status: number
  readonly name: OutcomeName
  /** For the log, never for the sender. */
  readonly reason: string
  /** Whether the answer has a Retry-After header. */
  readonly retryAfter?: true
  /** The result with an inbox, if it differs. An inbox stores every verified callback. */
  readonly withInbox?: { readonly status: 200; readonly name: OutcomeName }
}

const ROWS = {
  HANDLED: { status: 200, name: 'handled', reason: 'every handler finished' },
  STORED: {
    status: 200,
    name: 'stored',
    reason: 'the callback is durable in the inbox; a worker handles it',
  },
  DUPLICATE: { status: 200, name: 'duplicate', reason: 'the callback was handled or stored before' },

  ERR_METHOD_NOT_ALLOWED: { status: 405, name: 'refused', reason: 'the request is not a POST' },
  ERR_HEADERS_TOO_MANY: {
    status: 431,
    name: 'refused',
    reason: 'Node may have dropped header lines: there are 1,000, or server.maxHeadersCount',
  },
  ERR_BODY_ENCODED: {
    status: 415,
    name: 'refused',
    reason: 'the body has a Content-Encoding, and the signature may cover the encoded or the decoded bytes',
  },
  ERR_BODY_TOO_LARGE: { status: 413, name: 'refused', reason: 'the body is larger than maxBodyBytes' },
  ERR_BODY_TIMEOUT: { status: 408, name: 'refused', reason: 'the body took longer than bodyTimeoutMs' },
  ERR_BODY_ABORTED: {
    status: 400,
    name: 'refused',
    reason: 'the sender closed the connection before the body was complete',
  },
  ERR_BODY_MEMORY_FULL: {
    status: 503,
    name: 'refused',
    reason: 'the bodies of all unfinished requests together have reached maxBufferedBytes',
    retryAfter: true,
  },
  // Not 500: the request is unauthenticated, because nothing can be verified without the bytes. A genuine sender retries.
  ERR_BODY_ALREADY_READ: {
    status: 503,
    name: 'unavailable',
    reason:
      'a parser such as express.json() read the body before Countersign, so the signed bytes are gone. Mount the receiver ' +
      'before the parser, or keep the bytes: express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes } })',
    retryAfter: true,
  },

  // Refused, and not unavailable: a sender that closes its connection can cause it, and must not raise an alarm. The
  // status is not 400: if the application failed, a genuine sender retries.
  ERR_BODY_SOURCE_FAILED: {
    status: 503,
    name: 'refused',
    reason: 'the function, the promise or the iterator that was given to receive() for the body failed',
    retryAfter: true,
  },

  ERR_AUTHORIZATION_MISSING: { status: 401, name: 'refused', reason: 'there is no Authorization header' },
  ERR_AUTHORIZATION_REPEATED: {
    status: 401,
    name: 'refused',
    reason: 'there is more than one Authorization header',
  },
  ERR_AUTHORIZATION_MALFORMED: {
    status: 401,
    name: 'refused',
    reason: 'Authorization is not HMAC-SHA256 Signature= followed by 44 characters of Base64',
  },
  ERR_TIMESTAMP_MISSING: {
    status: 401,
    name: 'refused',
    reason: 'there is no Authorization-Timestamp header',
  },
  ERR_TIMESTAMP_REPEATED: {
    status: 401,
    name: 'refused',
    reason: 'there is more than one Authorization-Timestamp header',
  },
  ERR_TIMESTAMP_MALFORMED: {
    status: 401,
    name: 'refused',
    reason: 'Authorization-Timestamp is not an HTTP date',
  },
  ERR_SIGNATURE_MISMATCH: {
    status: 401,
    name: 'refused',
    reason:
      'no subscription has this signature: the callback is forged, or callbackUrl or secret differ from the subscription',
  },
  ERR_TIMESTAMP_OUT_OF_TOLERANCE: {
    status: 401,
    name: 'refused',
    reason:
      'the signature is valid, but it is older than toleranceMs or further ahead than futureToleranceMs',
    withInbox: { status: 200, name: 'quarantined' },
  },
  ERR_EVENT_TYPE_MISMATCH: {
    status: 401,
    name: 'refused',
    reason:
      'X-Event-Type, which is not signed, is not the eventTypeName of the subscription whose secret matched',
    withInbox: { status: 200, name: 'quarantined' },
  },

  ERR_EVENT_TYPE_MISSING: {
    status: 400,
    name: 'refused',
    reason: 'there is no X-Event-Type header, or more than one',
  },
  ERR_IDEMPOTENCY_KEY_MISSING: {
    status: 400,
    name: 'refused',
    reason: 'there is no X-Idempotency-Key header, or more than one',
  },
  ERR_IDEMPOTENCY_KEY_MALFORMED: {
    status: 400,
    name: 'refused',
    reason: 'X-Idempotency-Key is not a UUID',
  },
  ERR_BODY_NOT_JSON: {
    status: 400,
    name: 'refused',
    reason: 'the signature is valid, but the body is not a JSON object in UTF-8',
    withInbox: { status: 200, name: 'quarantined' },
  },

  ERR_CALLBACK_IN_PROGRESS: {
    status: 409,
    name: 'refused',
    reason: 'the same callback is still being handled',
    retryAfter: true,
  },
  ERR_IDEMPOTENCY_KEY_REUSED: {
    status: 409,
    name: 'refused',
    reason: 'the signature is valid, but the idempotency key belongs to a callback with another body',
    withInbox: { status: 200, name: 'quarantined' },
  },
  ERR_SIGNATURE_REPLAYED: {
    status: 409,
    name: 'refused',
    reason:
      'the signature belongs to a callback with another idempotency key: a replay of a captured delivery',
    withInbox: { status: 200, name: 'quarantined' },
  },

  ERR_HANDLER_MISSING: {
    status: 500,
    name: 'failed',
    reason: 'no handler is registered for this event type: register one with on(), onAny() or onUnhandled()',
    withInbox: { status: 200, name: 'unhandled' },
  },
  ERR_HANDLER_FAILED: { status: 500, name: 'failed', reason: 'a handler threw' },
  ERR_HANDLER_TIMEOUT: { status: 500, name: 'failed', reason: 'a handler took longer than its timeout' },
  ERR_PAYLOAD_INVALID: {
    status: 500,
    name: 'failed',
    reason: 'the payload does not match the schema of its event type',
  },
  ERR_INTERNAL: { status: 500, name: 'failed', reason: 'an unexpected error occurred in Countersign' },

  ERR_RETRY_LATER: {
    status: 503,
    name: 'unavailable',
    reason: 'a handler threw RetryLaterError: a dependency cannot be reached',
    retryAfter: true,
  },
  ERR_CLAIM_LOST: {
    status: 503,
    name: 'unavailable',
    reason: 'too little of the lease was left to start the handlers, or it expired before they ended',
    retryAfter: true,
  },
  ERR_STORE_UNAVAILABLE: {
    status: 503,
    name: 'unavailable',
    reason: 'the idempotency store did not answer',
    retryAfter: true,
  },
  ERR_INBOX_UNAVAILABLE: {
    status: 503,
    name: 'unavailable',
    reason: 'the inbox could not be written',
    retryAfter: true,
  },
  ERR_SUBSCRIPTIONS_UNAVAILABLE: {
    status: 503,
    name: 'unavailable',
    reason: 'the subscriptions function failed',
    retryAfter: true,
  },
  ERR_SHUTTING_DOWN: {
    status: 503,
    name: 'unavailable',
    reason: 'the receiver is stopping',
    retryAfter: true,
  },
} satisfies Record<string, OutcomeRow>

/** The code of a result: a row of `OUTCOMES`. */
export type OutcomeCode = keyof typeof ROWS

/**
 * Every result that a request can have, with its answer. 2xx means that the callback was verified, and handled or stored,
 * now or before. The table of the documentation is generated from it.
 */
export const OUTCOMES: Readonly<Record<OutcomeCode, Pick<OutcomeRow, 'status' | 'name' | 'reason'>>> = ROWS

/** Whether the answer of this result has a Retry-After header. */
export function asksToRetry(code: OutcomeCode): boolean {
  return (ROWS[code] as OutcomeRow).retryAfter === true
}

/** The result of one request: a row of the table, and the callback if it was verified. */
export interface Outcome {
  readonly code: OutcomeCode
  readonly name: OutcomeName
  readonly status: number
  /** For the operator, never for the sender. */
  readonly reason: string
  /** Only when the signature matched. */
  readonly callback?: VerifiedCallback | undefined
  /** The cause, if the result has one. */
  readonly error?: unknown
  /** How long the sender is asked to wait, in milliseconds, if a handler has said so with `RetryLaterError`. */
  readonly retryAfterMs?: number | undefined
  /** The entry that keeps the callback, when it is in an inbox. */
  readonly entryId?: EntryId | undefined
  /** Only when an attempt of a worker failed: its number, from 1. */
  readonly attempt?: number | undefined
}

export function outcome(code: OutcomeCode, callback?: VerifiedCallback, error?: unknown): Outcome {
  const { status, name, reason } = OUTCOMES[code]
  return { code, name, status, reason, callback, error }
}

/** A request that was refused before anything was verified. */
export interface Refusal {
  readonly refused: OutcomeCode
  /** In place of the reason of the table, if more is known. */
  readonly reason?: string | undefined
  readonly error?: unknown
}

export function refusal({ refused, reason, error }: Refusal): Outcome {
  const result = outcome(refused, undefined, error)
  return reason === undefined ? result : { ...result, reason }
}

/** The outcome of a probe of `countersign doctor`: the sender gets the report in place of the ordinary answer. */
export interface ProbeOutcome extends Outcome {
  readonly report: string
}

/** The outcome of a callback that is in the inbox. */
export function inboxOutcome(code: OutcomeCode, callback: VerifiedCallback, entryId: EntryId): Outcome {
  const row: OutcomeRow = ROWS[code]
  const { status, name } = row.withInbox ?? row
  // No spread: with properties behind it, V8 of Node 20 takes a microsecond or more, 2 percent of a stored callback.
  return { code, name, status, reason: row.reason, callback, error: undefined, entryId }
}

/** An attempt of a worker that failed. Its callback was answered 200 when it was stored. */
export function attemptOutcome(
  code: OutcomeCode,
  { callback, entryId, attempt }: { callback: VerifiedCallback; entryId: EntryId; attempt: number },
  error: unknown,
): Outcome {
  return { ...outcome(code, callback, error), name: 'failed', status: 200, entryId, attempt }
}
