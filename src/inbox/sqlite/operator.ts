import type { EntryId } from '../../callback/callback.js'
import type {
  ActResult,
  Entry,
  EntryFilter,
  EntryPage,
  EntrySummary,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from '../operations.js'
import { NO_ENTRIES } from '../no-entries.js'
import { actionRefusal, missingRefusal, refusal } from '../operator-action.js'
import { MOVES, type StoredState } from '../states.js'
import type { Connection } from './connection.js'
import type { SqliteValue } from './driver.js'
import { shownState, unhandledTypes } from './handled-types.js'
import { keyHashRange } from '../identity.js'
import { promoteNext } from './order.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf, rowIdOf } from './row-id.js'
import { bufferOf, SUMMARY_COLUMNS, summaryOf, type SummaryRow } from './row.js'

/** Carries out an operator's decision on an entry. */
export function act(
  db: Connection,
  entryId: EntryId,
  action: OperatorAction,
  { by, now, again }: { by: string; now: number; again: boolean },
): ActResult {
  const id = rowIdOf(entryId)
  const entry = id === undefined ? undefined : db.get<ActedOnRow>(ACTED_ON, id)
  if (id === undefined || !entry) return missingRefusal(entryId)
  const shown = { id: entryId, state: shownState(entry, unhandledTypes(db)) }
  if (action === 'undo') return refusal('state', `entry ${entryId} has no decision that could be taken back`)
  const refused = actionRefusal(action, shown, related(db, entryId), again)
  if (refused !== undefined) return refused
  if (action === 'release') {
    db.run(MAKE_KNOWN, id)
    db.run(CALL_AS_SUBSCRIBED, id)
  }
  const { to } = MOVES[action]
  if (action === 'discard') db.run(DISCARD, to, now, id)
  else db.run(MAKE_DUE, to, now, id)
  db.run('INSERT INTO history (entry_id, at, action, person) VALUES (?, ?, ?, ?)', id, now, action, by)
  if (entry.order_key !== null) promoteNext(db, entry.order_key)
  return { done: true }
}

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
  { states, eventType, idempotencyKey, reason, before, after }: EntryFilter,
  { afterId, limit = 100, newestFirst = false }: EntryPage = {},
): EntrySummary[] {
  const conditions: [sql: string, ...values: SqliteValue[]][] = []
  if (afterId !== undefined) {
    const rowId = rowIdOf(afterId)
    if (rowId === undefined) return []
    conditions.push([newestFirst ? 'id < ?' : 'id > ?', rowId])
  }
  const unhandled = unhandledTypes(db)
  if (states) {
    const isUnhandled = `(state IN ('stored', 'retrying') AND event_type IN (SELECT value FROM json_each(?)))`
    const chosen = `state IN (${states.map(() => '?').join(', ')})`
    const types = JSON.stringify([...unhandled])
    conditions.push(
      states.includes('unhandled')
        ? [`(${chosen} OR ${isUnhandled})`, ...states, types]
        : [`${chosen} AND NOT ${isUnhandled}`, ...states, types],
    )
  }
  if (eventType !== undefined) conditions.push(['event_type = ?', eventType])
  if (idempotencyKey !== undefined) {
    conditions.push(['key_hash BETWEEN ? AND ?', ...keyHashRange(idempotencyKey)])
    conditions.push(['idempotency_key = ?', idempotencyKey])
  }
  if (reason !== undefined) conditions.push(['instr(lower(reason), lower(?)) > 0', reason])
  if (before !== undefined) conditions.push(['received_at < ?', before])
  if (after !== undefined) conditions.push(['received_at > ?', after])
  const where = conditions.map(([sql]) => sql).join(' AND ') || 'true'
  const values = conditions.flatMap(([, ...values]) => values)
  // Most entries are handled: to look them up by that state, and then sort them, takes longer than to read them by id.
  const table =
    states?.includes('handled') && idempotencyKey === undefined ? 'entries NOT INDEXED' : 'entries'
  const order = newestFirst ? 'id DESC' : 'id'
  const sql = `SELECT ${SUMMARY_COLUMNS} FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ?`
  return db.all<SummaryRow>(sql, ...values, limit).map((row) => summaryOf(row, shownState(row, unhandled)))
}

export function show(db: Connection, entryId: EntryId): Entry | undefined {
  const id = rowIdOf(entryId)
  const row = id === undefined ? undefined : db.get<SummaryRow & { body: Uint8Array }>(SHOW, id)
  if (id === undefined || !row) return undefined
  const history = db.all<{ at: number; action: OperatorAction; person: string }>(HISTORY, id)
  return {
    ...summaryOf(row, shownState(row, unhandledTypes(db))),
    rawBody: bufferOf(row.body),
    attemptHistory: [],
    history: history.map(({ at, action, person }) => ({ at: new Date(at), action, by: person })),
  }
}

interface ActedOnRow {
  readonly state: StoredState
  readonly event_type: string
  readonly order_key: string | null
}

const ACTED_ON = 'SELECT state, event_type, order_key FROM entries WHERE id = ?'

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

/** Unless its key or its signature belongs to another entry, by which repeats are then still recognised. */
const MAKE_KNOWN = `
  UPDATE OR IGNORE entries SET known = 1
  WHERE id = ? AND NOT EXISTS (SELECT 1 FROM more_signatures WHERE signature = entries.signature)`

// The type in the header is not signed: what the signature proves is the subscription.
const CALL_AS_SUBSCRIBED = 'UPDATE entries SET event_type = subscribed_type WHERE id = ?'

const MAKE_DUE = `
  UPDATE entries SET
    state = ?1, due_at = ?2, due_set_at = ?2, ready = order_key IS NULL, attempts = 0, replayed = 1, finished_at = NULL
  WHERE id = ?3`

const DISCARD = 'UPDATE entries SET state = ?, due_at = NULL, ready = 0, finished_at = ? WHERE id = ?'

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

const SHOW = `SELECT ${SUMMARY_COLUMNS}, body FROM entries WHERE id = ?`
const HISTORY = 'SELECT at, action, person FROM history WHERE entry_id = ? ORDER BY id'
