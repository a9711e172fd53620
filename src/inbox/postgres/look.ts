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
import { wholeHeaders } from './common-headers.js'
import { rowId } from './entry-id.js'
import { SHOWN_STATE, wholeEntries } from './filter.js'
import { originalText } from './sql-text.js'
import { textKey } from './text-key.js'
import type { Transaction } from './transaction.js'

export async function show(tx: Transaction, id: EntryId): Promise<Entry | undefined> {
  const row = rowId(id)
  if (row === undefined) return undefined
  const [found] = await tx.all<DividedRow>(SHOW, await typesWithHandlers(tx), row)
  if (!found) return undefined
  const headers = wholeHeaders({ common: found.common_headers, own: found.headers })
  return entryOf(
    shownSummary(found),
    { ...found, headers },
    await tx.all<HistoryRow>(HISTORY, row),
    originalText,
  )
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

/** The keys of the types that workers have handlers for; null for all types. */
export async function typesWithHandlers(tx: Transaction): Promise<string[] | null> {
  const sql = 'SELECT event_type AS "eventType", seen_at AS "seenAt" FROM handled_types'
  const rows = await tx.all<{ eventType: string; seenAt: BigInteger }>(sql)
  const types = handledTypes(rows.map(({ eventType, seenAt }) => ({ eventType, seenAt: Number(seenAt) })))
  return types === 'any' ? null : [...types].map(textKey)
}

export interface ShownSummaryRow extends SummaryRow {
  readonly state: InboxState
  readonly shown_due_at: BigInteger | null
}

interface DividedRow extends ShownSummaryRow, ShownRow {
  readonly common_headers: string | null
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
  CASE WHEN ready AND ${SHOWN_STATE} <> 'unhandled' THEN due_at END AS shown_due_at`

const SHOW = `
  SELECT ${SHOWN_COLUMNS}, body, headers, trace_context, begun_at, handled_at, past_attempts::text AS past_attempts, is_running, common_headers
  FROM ${wholeEntries('entries.id = $2::bigint')} JOIN contents USING (id) WHERE id = $2::bigint`
const HISTORY =
  'SELECT at, action, person, reason, before FROM history WHERE entry_id = $1::bigint ORDER BY id'

// Each part of the union is a search by an index.
const RELATED = `
  WITH own AS (SELECT * FROM entries WHERE id = $2::bigint AND kind <> 1),
  signed (id) AS (
    SELECT coalesce(other.repeat_of, other.id) FROM own JOIN entries AS other USING (signed_at, signature) WHERE other.kind <= 1
    UNION SELECT other.id FROM own JOIN entries AS other USING (signed_at, signature) WHERE other.kind = 2
    UNION SELECT other.id FROM entries AS repeat JOIN entries AS other USING (signed_at, signature)
      WHERE repeat.kind = 1 AND repeat.repeat_of = $2::bigint AND other.kind = 2
  ),
  sharing (id) AS (
    SELECT other.id FROM own JOIN entries AS other USING (key_hash) WHERE other.kind = 0
    UNION SELECT other.id FROM own JOIN entries AS other USING (key_hash) WHERE other.kind = 2
    UNION SELECT id FROM signed
  )
  SELECT entries.id, ${SHOWN_STATE} AS state,
    entries.key_hash = own.key_hash AND entries.body_hash = own.body_hash AS same_callback,
    entries.id IN (SELECT id FROM signed) AS same_signature,
    entries.known OR entries.replayed AS accepted
  FROM ${wholeEntries('entries.id IN (SELECT id FROM sharing)')} CROSS JOIN own
  WHERE entries.id <> own.id ORDER BY entries.id`
