import type { EntryId } from '../../callback/callback.js'
import { attemptsOf } from '../attempt-history.js'
import type { ArrivedHeaders } from '../inbox.js'
import type {
  Entry,
  EntryFilter,
  EntryPage,
  EntrySummary,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from '../operations.js'
import { NO_ENTRIES } from '../no-entries.js'
import type { StoredState } from '../states.js'
import type { Connection } from './connection.js'
import { conditionsOf, joined, type Condition } from './filter.js'
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

export function stats(db: Reader): InboxStats {
  const counts = { ...NO_ENTRIES }
  let notHandled = 0
  for (const { state, count } of db.all<StateCount>(COUNTS)) {
    counts[state] = count
    notHandled += count
  }
  counts.handled = db.get<{ count: number }>('SELECT count(*) AS count FROM entries')!.count - notHandled
  const unhandled = JSON.stringify([...unhandledTypes(db)])
  for (const { state, count } of db.all<StateCount>(UNHANDLED_COUNTS, unhandled)) {
    counts[state] -= count
    counts.unhandled += count
  }
  const oldest = db.get<{ received_at: number }>(OLDEST_UNFINISHED, unhandled)
  return { ...counts, oldestUnfinished: oldest && new Date(oldest.received_at) }
}

export function list(
  db: Connection,
  filter: EntryFilter,
  { afterId, limit = 100, newestFirst = false }: EntryPage = {},
): EntrySummary[] {
  const conditions: Condition[] = []
  if (afterId !== undefined) {
    const rowId = rowIdOf(afterId)
    if (rowId === undefined) return []
    conditions.push([newestFirst ? 'id < ?' : 'id > ?', rowId])
  }
  const unhandled = unhandledTypes(db)
  const { where, values } = joined([...conditions, ...conditionsOf(filter, unhandled)])
  // Most entries are handled: to look them up by that state, and then sort them, takes longer than to read them by id.
  const isLookup = filter.idempotencyKey !== undefined || filter.bodyId !== undefined
  const table = filter.states?.includes('handled') && !isLookup ? 'entries NOT INDEXED' : 'entries'
  const order = newestFirst ? 'id DESC' : 'id'
  const sql = `SELECT ${SUMMARY_COLUMNS} FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ?`
  return db.all<SummaryRow>(sql, ...values, limit).map((row) => summaryOf(row, shownState(row, unhandled)))
}

export function show(db: Connection, entryId: EntryId): Entry | undefined {
  const id = rowIdOf(entryId)
  const row = id === undefined ? undefined : db.get<ShownRow>(SHOW, id)
  if (id === undefined || !row) return undefined
  const history = db.all<HistoryRow>(HISTORY, id)
  return {
    ...summaryOf(row, shownState(row, unhandledTypes(db))),
    rawBody: bufferOf(row.body),
    headers: row.headers === null ? undefined : (JSON.parse(row.headers) as ArrivedHeaders),
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

interface StateCount {
  readonly state: StoredState
  readonly count: number
}

// Two ranges of the index. They leave out the state with by far the most entries.
const COUNTS = `
  SELECT state, count(*) AS count FROM entries WHERE state < 'handled' GROUP BY state
  UNION ALL
  SELECT state, count(*) FROM entries WHERE state > 'handled' GROUP BY state`

// By the indexes on the types of these entries: SQLite would choose that on the states, and read every entry that waits.
const UNHANDLED_COUNTS = `
  SELECT state, count(*) AS count FROM (
    SELECT state FROM json_each(?1) CROSS JOIN entries INDEXED BY entries_ready
    WHERE event_type = value AND ready = 1 AND begun_by = 0
    UNION ALL
    SELECT state FROM json_each(?1) CROSS JOIN entries INDEXED BY entries_begun
    WHERE event_type = value AND ready = 1 AND begun_by > 0
    UNION ALL
    SELECT state FROM json_each(?1) CROSS JOIN entries INDEXED BY entries_waiting
    WHERE event_type = value AND ready = 0 AND due_at IS NOT NULL
  ) WHERE state IN ('stored', 'retrying') GROUP BY state`

const OLDEST_UNFINISHED = `
  SELECT received_at FROM entries WHERE id = (
    SELECT min(id) FROM (
      SELECT min(id) AS id FROM entries
      WHERE state = 'stored' AND finished_at IS NULL AND event_type NOT IN (SELECT value FROM json_each(?1))
      UNION ALL SELECT min(id) FROM entries WHERE state = 'running' AND finished_at IS NULL
      UNION ALL SELECT min(id) FROM entries
      WHERE state = 'retrying' AND finished_at IS NULL AND event_type NOT IN (SELECT value FROM json_each(?1))
    )
  )`

const SHOW = `
  SELECT ${SUMMARY_COLUMNS}, body, headers, trace_context, begun_at, handled_at, past_attempts, begun_by, token
  FROM entries WHERE id = ?`
const HISTORY = 'SELECT at, action, person, reason FROM history WHERE entry_id = ? ORDER BY id'
