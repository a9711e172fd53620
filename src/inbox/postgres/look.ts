import type { EntryId } from '../../callback/callback.js'
import { handledTypes } from '../handled-types.js'
import type { Entry, EntrySummary, RelatedEntry } from '../operations.js'
import type { InboxState } from '../states.js'
import {
  entryOf,
  SUMMARY_COLUMNS,
  summaryOf,
  type BigInteger,
  type HistoryRow,
  type ShownRow,
  type SummaryRow,
} from '../stored-entry.js'
import { rowId } from './entry-id.js'
import { SHOWN_STATE } from './filter.js'
import { originalText } from './sql-text.js'
import type { Transaction } from './transaction.js'

export async function show(tx: Transaction, id: EntryId): Promise<Entry | undefined> {
  const row = rowId(id)
  if (row === undefined) return undefined
  const [found] = await tx.all<ShownSummaryRow & ShownRow>(SHOW, await typesWithHandlers(tx), row)
  if (!found) return undefined
  return entryOf(shownSummary(found), found, await tx.all<HistoryRow>(HISTORY, row), originalText)
}

/** The summary of a row with `SHOWN_COLUMNS`. */
export function shownSummary(row: ShownSummaryRow): EntrySummary {
  return summaryOf(row, { state: row.state, dueAt: row.shown_due_at }, originalText)
}

/** The other entries that share the key or a signature of an entry. */
export async function related(tx: Transaction, id: EntryId): Promise<RelatedEntry[]> {
  const row = rowId(id)
  if (row === undefined) return []
  const found = await tx.all<RelatedRow>(RELATED, await typesWithHandlers(tx), row)
  return found.map((each) => ({
    id: String(each.id),
    state: each.state,
    shares: each.same_callback ? 'callback' : each.same_signature ? 'signature' : 'key',
    accepted: each.accepted,
  }))
}

/** The types that workers have handlers for, as they are stored; null for all types. */
export async function typesWithHandlers(tx: Transaction): Promise<string[] | null> {
  const rows = await tx.all<{ event_type: string; seen_at: BigInteger }>(
    'SELECT event_type, seen_at FROM handled_types',
  )
  const types = handledTypes(
    rows.map(({ event_type: eventType, seen_at: seenAt }) => ({ eventType, seenAt: Number(seenAt) })),
  )
  return types === 'any' ? null : [...types]
}

export interface ShownSummaryRow extends SummaryRow {
  readonly state: InboxState
  readonly shown_due_at: BigInteger | null
}

interface RelatedRow {
  readonly id: BigInteger
  readonly state: InboxState
  readonly same_callback: boolean
  readonly same_signature: boolean
  readonly accepted: boolean
}

/** With $1 as `typesWithHandlers` returns it. */
export const SHOWN_COLUMNS = `
  ${SUMMARY_COLUMNS}, ${SHOWN_STATE} AS state,
  CASE WHEN state = 'running' THEN lease_until
    WHEN ready AND ${SHOWN_STATE} <> 'unhandled' THEN due_at END AS shown_due_at`

const SHOW = `
  SELECT ${SHOWN_COLUMNS}, body, headers, trace_context, begun_at, handled_at, past_attempts::text AS past_attempts,
    state = 'running' AND begun_by = token AS is_running
  FROM entries JOIN contents USING (id) WHERE id = $2::bigint`
const HISTORY =
  'SELECT at, action, person, reason, before FROM history WHERE entry_id = $1::bigint ORDER BY id'

// Each part of the union is a search by an index.
const RELATED = `
  WITH own AS (SELECT * FROM entries WHERE id = $2::bigint),
  signed (id) AS (
    SELECT entry_id FROM own JOIN signatures USING (signed_at, signature)
    UNION SELECT other.id FROM own JOIN entries AS other
      ON other.signed_at = own.signed_at AND other.signature = own.signature WHERE NOT other.known
    UNION SELECT other.id FROM signatures AS repeat JOIN entries AS other
      ON other.signed_at = repeat.signed_at AND other.signature = repeat.signature
      WHERE repeat.repeated AND repeat.entry_id = $2::bigint AND NOT other.known
  ),
  sharing (id) AS (
    SELECT other.id FROM own JOIN entries AS other ON other.key_hash = own.key_hash UNION SELECT id FROM signed
  )
  SELECT entries.id, ${SHOWN_STATE.replaceAll(/\b(state|event_type)\b/g, 'entries.$1')} AS state,
    entries.key_hash = own.key_hash AND entries.body_hash = own.body_hash AS same_callback,
    entries.id IN (SELECT id FROM signed) AS same_signature,
    entries.known OR entries.replayed AS accepted
  FROM entries JOIN sharing ON sharing.id = entries.id CROSS JOIN own
  WHERE entries.id <> own.id ORDER BY entries.id`
