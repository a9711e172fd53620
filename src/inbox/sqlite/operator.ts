import type { EntryId } from '../../callback/callback.js'
import { attemptsOf } from '../attempt-history.js'
import { headersOf } from '../stored-headers.js'
import type { Entry, OperatorAction, RelatedEntry } from '../operations.js'
import type { StoredState } from '../states.js'
import type { Connection } from './connection.js'
import { shownState, unhandledTypes } from './handled-types.js'
import { pastAttemptsOf } from './past-attempts.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf, rowIdOf } from './row-id.js'
import { bufferOf, SUMMARY_COLUMNS, summaryOf, type SummaryRow } from './row.js'

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
  const row = id === undefined ? undefined : db.get<ShownRow>(SHOW, id)
  if (id === undefined || !row) return undefined
  const history = db.all<HistoryRow>(HISTORY, id)
  return {
    ...summaryOf(row, shownState(row, unhandledTypes(db))),
    rawBody: bufferOf(row.body),
    headers: headersOf(row.headers),
    traceContext: row.trace_context ?? undefined,
    attemptHistory: attemptsOf(pastAttemptsOf(row.past_attempts), {
      number: row.attempts,
      startedAt: row.begun_at,
      handledAt: row.handled_at,
      isRunning: row.state === 'running' && row.begun_by === row.token,
    }),
    history: history.map(({ at, action, person, reason }) => {
      return { at: new Date(at), action, by: person, ...(reason !== null && { reason }) }
    }),
  }
}

interface ShownRow extends SummaryRow {
  readonly body: Uint8Array
  readonly headers: string | null
  readonly trace_context: string | null
  readonly begun_at: number | null
  readonly handled_at: number | null
  readonly past_attempts: string | null
  readonly begun_by: number
  readonly token: number
}

interface HistoryRow {
  readonly at: number
  readonly action: OperatorAction
  readonly person: string
  readonly reason: string | null
}

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

// Each part of the union is a search by an index. Of signatures stored by a version that did not store their time, the
// last part finds none.
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
  SELECT ${SUMMARY_COLUMNS}, body, headers, trace_context, begun_at, handled_at, past_attempts, begun_by, token
  FROM entries WHERE id = ?`
const HISTORY = 'SELECT at, action, person, reason FROM history WHERE entry_id = ? ORDER BY id'
