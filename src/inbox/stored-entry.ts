import { defaultSubscriptionId, type StoredCallback } from '../callback/callback.js'
import { attemptsBefore, attemptsOf, pastAttemptsOf } from './attempt-history.js'
import type { Entry, EntrySummary, SeenEntry } from './operations.js'
import type { InboxState, StoredState } from './states.js'
import { headersOf } from './stored-headers.js'
import { decisionIn, type EntryBefore, type StoredDecision } from './undo.js'

/** A whole number as a driver returns it: `pg` returns a bigint as a text, unless the user has told it otherwise. */
export type BigInteger = string | number | bigint

/** Returns the text that a stored text stands for. */
type TextOf = (stored: string) => string

/** The columns that a claim and a summary have in common. */
interface CommonRow {
  readonly event_type: string
  readonly idempotency_key: string
  readonly signed_at: BigInteger
  readonly received_at: BigInteger
  readonly subscribed_type: string
  readonly callback_url: string
  readonly description: string | null
  readonly subscription_id: string | null
}

export const COMMON_COLUMNS =
  'event_type, idempotency_key, signed_at, received_at, subscribed_type, callback_url, description, subscription_id'

/** What a claim needs of an entry, without the body. */
export interface CallbackRow extends CommonRow {
  readonly secret_fingerprint: string
  readonly trace_context: string | null
}

export function callbackOf(row: CallbackRow, rawBody: Buffer, textOf: TextOf = asIs): StoredCallback {
  const { trace_context: traceContext } = row
  return {
    type: textOf(row.event_type),
    idempotencyKey: textOf(row.idempotency_key),
    signedAt: dateOf(row.signed_at),
    receivedAt: dateOf(row.received_at),
    rawBody,
    subscription: subscriptionOf(row, textOf),
    secretFingerprint: textOf(row.secret_fingerprint),
    ...(traceContext !== null && { traceContext: textOf(traceContext) }),
  }
}

export interface SummaryRow extends CommonRow {
  readonly id: BigInteger
  readonly attempts: number
  readonly finished_at: BigInteger | null
  readonly reason: string | null
  readonly copies: number
  readonly body_id: string | null
}

export const SUMMARY_COLUMNS = `id, attempts, finished_at, reason, copies, body_id, ${COMMON_COLUMNS}`

/** `shown`: the state, and when the entry is due or its lease ends, as they are reported. */
export function summaryOf(
  row: SummaryRow,
  shown: { readonly state: InboxState; readonly dueAt: BigInteger | null },
  textOf: TextOf = asIs,
): EntrySummary {
  return {
    id: String(row.id),
    state: shown.state,
    eventType: textOf(row.event_type),
    idempotencyKey: textOf(row.idempotency_key),
    bodyId: row.body_id === null ? undefined : textOf(row.body_id),
    subscription: subscriptionOf(row, textOf),
    signedAt: dateOf(row.signed_at),
    receivedAt: dateOf(row.received_at),
    attempts: row.attempts,
    dueAt: shown.dueAt === null ? undefined : dateOf(shown.dueAt),
    finishedAt: row.finished_at === null ? undefined : dateOf(row.finished_at),
    reason: row.reason === null ? undefined : textOf(row.reason),
    copies: row.copies,
  }
}

/** What `show` needs in addition to the summary. */
export interface ShownRow {
  readonly attempts: number
  readonly body: Uint8Array
  readonly headers: string | null
  readonly trace_context: string | null
  readonly begun_at: BigInteger | null
  readonly handled_at: BigInteger | null
  /** JSON. */
  readonly past_attempts: string | null
  /** Whether the handlers of the latest claim are running. */
  readonly is_running: boolean | 0 | 1
}

export interface HistoryRow extends StoredDecision {
  readonly at: BigInteger
  readonly person: string
  readonly reason: string | null
}

export function entryOf(
  summary: EntrySummary,
  row: ShownRow,
  history: readonly HistoryRow[],
  textOf: TextOf = asIs,
): Entry {
  return {
    ...summary,
    rawBody: bufferOf(row.body),
    headers: headersOf(row.headers),
    traceContext: row.trace_context === null ? undefined : textOf(row.trace_context),
    attemptHistory: attemptsOf(
      pastAttemptsOf(row.past_attempts, textOf),
      {
        startedAt: numberOf(row.begun_at),
        handledAt: numberOf(row.handled_at),
        isRunning: Boolean(row.is_running),
      },
      row.attempts + attemptsBefore(history.map(decisionIn)),
    ),
    history: history.map(({ at, action, person, reason }) => ({
      at: dateOf(at),
      action,
      by: textOf(person),
      ...(reason !== null && { reason: textOf(reason) }),
    })),
  }
}

/** What a decision of an operator needs of an entry. */
export interface ActedOnRow {
  readonly state: StoredState
  readonly event_type: string
  readonly due_at: BigInteger | null
  readonly due_set_at: BigInteger | null
  readonly attempts: number
  readonly replayed: boolean | 0 | 1
  readonly finished_at: BigInteger | null
  readonly known: boolean | 0 | 1
  readonly token: number
  readonly copies: number
}

export const ACTED_ON_COLUMNS =
  'state, event_type, due_at, due_set_at, attempts, replayed, finished_at, known, token, copies'

export function seenEntry({ attempts, finished_at: finishedAt }: ActedOnRow, state: InboxState): SeenEntry {
  return { state, attempts, finishedAt: finishedAt === null ? undefined : dateOf(finishedAt) }
}

export function entryBefore(row: ActedOnRow, now: number, textOf: TextOf = asIs): EntryBefore {
  return {
    state: row.state,
    eventType: textOf(row.event_type),
    dueAt: numberOf(row.due_at),
    // Null if the entry had ended before a file was migrated to the version with this column.
    dueSetAt: numberOf(row.due_set_at) ?? now,
    attempts: row.attempts,
    replayed: Boolean(row.replayed),
    finishedAt: numberOf(row.finished_at),
    known: Boolean(row.known),
    token: row.token,
    copies: row.copies,
  }
}

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** How SQLite stores a text. */
function asIs(text: string): string {
  return text
}

function subscriptionOf(row: CommonRow, textOf: TextOf): StoredCallback['subscription'] {
  const eventTypeName = textOf(row.subscribed_type)
  const callbackUrl = textOf(row.callback_url)
  const { description, subscription_id: ownId } = row
  const id = ownId === null ? defaultSubscriptionId({ eventTypeName, callbackUrl }) : textOf(ownId)
  return { id, eventTypeName, callbackUrl, ...(description !== null && { description: textOf(description) }) }
}

function dateOf(ms: BigInteger): Date {
  return new Date(Number(ms))
}

function numberOf(integer: BigInteger | null): number | null {
  return integer === null ? null : Number(integer)
}
