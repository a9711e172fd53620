import { defaultSubscriptionId, type VerifiedCallback } from '../../callback/callback.js'
import type { EntrySummary } from '../operations.js'
import type { InboxState } from '../states.js'
import { originalText } from './sql-text.js'

/** A bigint as the driver returns it: a text, unless the user has told the driver otherwise. */
export type BigInteger = string | number | bigint

/** What a claim needs of an entry. */
export interface CallbackRow {
  readonly event_type: string
  readonly idempotency_key: string
  readonly signed_at: BigInteger
  readonly received_at: BigInteger
  readonly subscribed_type: string
  readonly callback_url: string
  readonly description: string | null
  readonly subscription_id: string | null
  readonly secret_fingerprint: string
  readonly trace_context: string | null
  /** In Base64. */
  readonly body: string
}

export interface SummaryRow extends Omit<CallbackRow, NotInSummary> {
  readonly id: BigInteger
  readonly state: InboxState
  readonly attempts: number
  readonly shown_due_at: BigInteger | null
  readonly finished_at: BigInteger | null
  readonly reason: string | null
  readonly copies: number
  readonly body_id: string | null
}

type NotInSummary = 'secret_fingerprint' | 'trace_context' | 'body'

export const CALLBACK_COLUMNS =
  'event_type, idempotency_key, signed_at, received_at, subscribed_type, callback_url, description, subscription_id'

export function callbackOf(row: CallbackRow): VerifiedCallback {
  return {
    type: originalText(row.event_type),
    idempotencyKey: originalText(row.idempotency_key),
    signedAt: new Date(Number(row.signed_at)),
    receivedAt: new Date(Number(row.received_at)),
    rawBody: Buffer.from(row.body, 'base64'),
    subscription: subscriptionOf(row),
    ...(row.secret_fingerprint !== '' && { secretFingerprint: originalText(row.secret_fingerprint) }),
    ...(row.trace_context !== null && { traceContext: originalText(row.trace_context) }),
  }
}

export function summaryOf(row: SummaryRow): EntrySummary {
  return {
    id: String(row.id),
    state: row.state,
    eventType: originalText(row.event_type),
    idempotencyKey: originalText(row.idempotency_key),
    bodyId: row.body_id === null ? undefined : originalText(row.body_id),
    subscription: subscriptionOf(row),
    signedAt: new Date(Number(row.signed_at)),
    receivedAt: new Date(Number(row.received_at)),
    attempts: row.attempts,
    dueAt: dateOf(row.shown_due_at),
    finishedAt: dateOf(row.finished_at),
    reason: row.reason === null ? undefined : originalText(row.reason),
    copies: row.copies,
  }
}

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function subscriptionOf(row: Omit<CallbackRow, NotInSummary>): VerifiedCallback['subscription'] {
  const eventTypeName = originalText(row.subscribed_type)
  const callbackUrl = originalText(row.callback_url)
  const { description, subscription_id: ownId } = row
  const id = ownId === null ? defaultSubscriptionId({ eventTypeName, callbackUrl }) : originalText(ownId)
  return {
    id,
    eventTypeName,
    callbackUrl,
    ...(description !== null && { description: originalText(description) }),
  }
}

function dateOf(ms: BigInteger | null): Date | undefined {
  return ms === null ? undefined : new Date(Number(ms))
}
