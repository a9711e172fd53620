import type { EntryId } from '../../callback/callback.js'
import type { Entry, EntrySummary, RelatedEntry } from '../operations.js'
import type { StoredState } from '../states.js'
import {
  entryOf,
  SUMMARY_COLUMNS,
  summaryOf,
  type HistoryRow,
  type ShownRow,
  type SummaryRow,
} from '../stored-entry.js'
import type { Connection } from './connection.js'
import { shownState, unhandledTypes } from './handled-types.js'
import { unpackHeaders } from './header-sets.js'
import { unpackUuid, type PackedUuid } from './packed-uuid.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf, rowIdOf } from './row-id.js'

/** The other entries that share the key or a signature of an entry. */
export function related(db: Reader, entryId: EntryId): RelatedEntry[] {
  const id = rowIdOf(entryId)
  const own = id === undefined ? undefined : db.get<IdentityRow>(IDENTITY, id)
  if (id === undefined || !own) return []
  const rows = db.all<RelatedRow>(RELATED, own.key_hash, own.body_hash, own.signed_at, own.signature, id)
  if (rows.length === 0) return []
  const unhandled = unhandledTypes(db)
  return rows.map((row) => ({
    id: entryIdOf(row.id),
    state: shownState(row, unhandled),
    shares: row.same_callback === 1 ? 'callback' : row.same_signature === 1 ? 'signature' : 'key',
    accepted: row.accepted === 1,
  }))
}

export function show(db: Connection, entryId: EntryId): Entry | undefined {
  const id = rowIdOf(entryId)
  const row =
    id === undefined
      ? undefined
      : db.get<ShownSummaryRow & ShownRow & { readonly pairs: string | null }>(SHOW, id)
  if (id === undefined || !row) return undefined
  const summary = shownSummary(row, unhandledTypes(db))
  const { idempotencyKey } = summary
  const referred = { idempotencyKey, type: row.subscribed_type, signedAt: Number(row.signed_at) }
  const headers = unpackHeaders(row, referred)
  return entryOf(summary, { ...row, headers }, db.all<HistoryRow>(HISTORY, id))
}

/** The summary of a row with `SHOWN_COLUMNS`. */
export function shownSummary(row: ShownSummaryRow, unhandled: ReadonlySet<string>): EntrySummary {
  const state = shownState(row, unhandled)
  const idempotencyKey = unpackUuid(row.idempotency_key)
  const bodyId = row.body_id === null ? null : unpackUuid(row.body_id)
  const texts = { ...row, idempotency_key: idempotencyKey, body_id: bodyId }
  return summaryOf(texts, { state, dueAt: row.ready === 1 && state !== 'unhandled' ? row.due_at : null })
}

export interface ShownSummaryRow extends Omit<SummaryRow, 'idempotency_key' | 'body_id'> {
  readonly idempotency_key: PackedUuid
  readonly body_id: PackedUuid | null
  readonly state: StoredState
  readonly ready: 0 | 1
  readonly due_at: number | null
}

export const SHOWN_COLUMNS = `${SUMMARY_COLUMNS}, state, ready, due_at`

interface IdentityRow {
  readonly key_hash: Uint8Array
  readonly body_hash: Uint8Array
  readonly signed_at: number
  readonly signature: Uint8Array
}

const IDENTITY = 'SELECT key_hash, body_hash, signed_at, signature FROM entries WHERE id = ?'

interface RelatedRow {
  readonly id: number
  readonly state: StoredState
  readonly event_type: string
  readonly same_callback: 0 | 1
  readonly same_signature: 0 | 1
  readonly accepted: 0 | 1
}

// Each part of the union is a search by an index.
const RELATED = `
  WITH signed (id) AS (
    SELECT id FROM entries WHERE signed_at = ?3 AND signature = ?4
    UNION ALL SELECT entry_id FROM more_signatures WHERE signature = ?4
    UNION ALL SELECT other.id FROM more_signatures AS own JOIN entries AS other
      ON other.signed_at = own.signed_at AND other.signature = own.signature WHERE own.entry_id = ?5
  )
  SELECT id, state, event_type, key_hash = ?1 AND body_hash = ?2 AS same_callback, id IN signed AS same_signature,
    known = 1 OR replayed = 1 AS accepted
  FROM entries WHERE id <> ?5 AND id IN (SELECT id FROM entries WHERE key_hash = ?1 UNION ALL SELECT id FROM signed)
  ORDER BY id`

const SHOW = `
  SELECT ${SHOWN_COLUMNS}, body, headers, pairs, trace_context, begun_at, handled_at, past_attempts,
    state = 'running' AND begun_by = token AS is_running
  FROM entries JOIN sources ON sources.number = source LEFT JOIN header_sets ON header_sets.number = header_set WHERE id = ?`
const HISTORY = 'SELECT at, action, person, reason, before FROM history WHERE entry_id = ? ORDER BY id'
