import { defaultSubscriptionId, type VerifiedCallback } from '../../callback/callback.js'
import type { EntrySummary } from '../operations.js'
import type { InboxState, StoredState } from '../states.js'
import { entryIdOf } from './row-id.js'

/** What a claim needs of an entry. */
export interface CallbackRow {
  readonly event_type: string
  readonly idempotency_key: string
  readonly signed_at: number
  readonly received_at: number
  readonly subscribed_type: string
  readonly callback_url: string
  readonly description: string | null
  readonly subscription_id: string | null
  readonly secret_fingerprint: string | null
  readonly trace_context: string | null
  readonly body: Uint8Array
}

export interface SummaryRow extends Omit<CallbackRow, NotInSummary> {
  readonly id: number
  readonly state: StoredState
  readonly attempts: number
  readonly ready: number
  readonly due_at: number | null
  readonly finished_at: number | null
  readonly reason: string | null
  readonly copies: number
  readonly body_id: string | null
}

type NotInSummary = 'secret_fingerprint' | 'trace_context' | 'body'

const CALLBACK_COLUMNS =
  'event_type, idempotency_key, signed_at, received_at, subscribed_type, callback_url, description, subscription_id'

export const CLAIM_COLUMNS = `id, token, attempts, replayed, ${CALLBACK_COLUMNS}, secret_fingerprint, trace_context, body`
export const SUMMARY_COLUMNS = `id, state, attempts, ready, due_at, finished_at, reason, copies, ${CALLBACK_COLUMNS}, body_id`

export function callbackOf(row: CallbackRow): VerifiedCallback {
  return {
    type: row.event_type,
    idempotencyKey: row.idempotency_key,
    signedAt: new Date(row.signed_at),
    receivedAt: new Date(row.received_at),
    rawBody: bufferOf(row.body),
    subscription: subscriptionOf(row),
    ...(row.secret_fingerprint !== null && { secretFingerprint: row.secret_fingerprint }),
    ...(row.trace_context !== null && { traceContext: row.trace_context }),
  }
}

export function summaryOf(row: SummaryRow, state: InboxState): EntrySummary {
  return {
    id: entryIdOf(row.id),
    state,
    eventType: row.event_type,
    idempotencyKey: row.idempotency_key,
    bodyId: row.body_id ?? undefined,
    subscription: subscriptionOf(row),
    signedAt: new Date(row.signed_at),
    receivedAt: new Date(row.received_at),
    attempts: row.attempts,
    dueAt: row.ready === 1 && state !== 'unhandled' ? dateOf(row.due_at) : undefined,
    finishedAt: dateOf(row.finished_at),
    reason: row.reason ?? undefined,
    copies: row.copies,
  }
}

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function subscriptionOf(row: Omit<CallbackRow, NotInSummary>): VerifiedCallback['subscription'] {
  const { subscribed_type: eventTypeName, callback_url: callbackUrl, description } = row
  const id = row.subscription_id ?? defaultSubscriptionId({ eventTypeName, callbackUrl })
  return { id, eventTypeName, callbackUrl, ...(description !== null && { description }) }
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms)
}
