import type { ClaimEnd, ClaimEntries, Claims, ClaimToken, EventTypes } from '../inbox.js'
import { MOVES } from '../states.js'
import type { Connection } from './connection.js'
import { promoteNext } from './order.js'
import { CLAIM_COLUMNS, callbackOf, type CallbackRow } from './row.js'

export function claim(
  db: Connection,
  { eventTypes, limit, leaseMs, interrupted = false }: ClaimEntries,
  now: number,
): Claims {
  const sql = interrupted ? INTERRUPTED : ORDINARY
  const types = eventTypes === 'any' ? readyTypes(db, sql) : eventTypes
  const entries = types
    .flatMap((type) => db.all<{ id: number; due_at: number }>(sql.due, type, now, limit))
    .sort((a, b) => a.due_at - b.due_at || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => {
      const row = db.get<ClaimedRow>(CLAIM, now + leaseMs, now, id)!
      return {
        id,
        token: row.token,
        callback: callbackOf(row),
        attempt: row.attempts + 1,
        replayed: row.replayed === 1,
      }
    })
  return {
    entries,
    nextDueInMs: entries.length < limit ? nextDueInMs(db, sql, types, now) : undefined,
    interruptedIsDue: (eventTypes === 'any' ? readyTypes(db, INTERRUPTED) : eventTypes).some(
      (type) => db.all(INTERRUPTED.due, type, now, 1).length > 0,
    ),
  }
}

/** Records that the handlers of these entries begin. Returns the ids of those that are held. */
export function begin(
  db: Connection,
  claims: readonly ClaimToken[],
  leaseMs: number,
  now: number,
): Set<number> {
  return renew(db, BEGIN, claims, now + leaseMs, now)
}

export function extend(
  db: Connection,
  claims: readonly ClaimToken[],
  leaseMs: number,
  now: number,
): Set<number> {
  return renew(db, EXTEND, claims, now + leaseMs, now)
}

export function finish(db: Connection, { id, token }: ClaimToken, result: ClaimEnd, now: number): boolean {
  const { move } = result
  const isDueAgain = move === 'reschedule' || move === 'handBack'
  const ended = db.get<{ order_key: string | null }>(
    FINISH,
    MOVES[move].to,
    isDueAgain ? now + (move === 'reschedule' ? result.delayMs : 0) : null,
    move === 'complete' || move === 'deadLetter' ? now : null,
    'error' in result ? result.error : null,
    // Nothing was tried.
    move === 'markUnhandled' || move === 'handBack' ? 1 : 0,
    // What was interrupted before and is handed back is still to be handled by itself.
    move === 'handBack' ? 1 : 0,
    now,
    id,
    token,
  )
  if (ended && ended.order_key !== null) promoteNext(db, ended.order_key)
  return ended !== undefined
}

/**
 * Sets due times and ends anew that were set at a time that is still to come, for the clock has been set back since.
 * Returns how far ahead the latest due time was set, in milliseconds.
 */
export function setTimesAnew(db: Connection, now: number): number {
  // Or they would be kept until the clock is where it was, which may be years.
  db.run(END_NOW, now)
  const { latest } = db.get<{ latest: number | null }>(LATEST_SET_AHEAD, now)!
  if (latest === null) return 0
  db.run(SET_ANEW, now)
  return latest - now
}

/** Requeues up to `limit` unhandled entries. Returns how many. */
export function requeueSome(db: Connection, eventTypes: EventTypes, limit: number, now: number): number {
  const found =
    eventTypes === 'any'
      ? db.all<UnhandledRow>(UNHANDLED, limit)
      : eventTypes.flatMap((type) => db.all<UnhandledRow>(UNHANDLED_OF_TYPE, type, limit)).slice(0, limit)
  for (const { id, order_key: orderKey } of found) {
    db.run(REQUEUE, now, orderKey === null ? 1 : 0, id)
    if (orderKey !== null) promoteNext(db, orderKey)
  }
  return found.length
}

interface UnhandledRow {
  readonly id: number
  readonly order_key: string | null
}

interface ClaimedRow extends CallbackRow {
  readonly token: number
  readonly attempts: number
  readonly replayed: number
}

/** Entries that are handled side by side, or interrupted ones; each of the two has an index of its own. */
interface Selection {
  readonly types: string
  readonly due: string
  readonly next: string
}

const ORDINARY = selection('ready = 1 AND begun_by = 0')
const INTERRUPTED = selection('ready = 1 AND begun_by > 0')
/** What a person had handled again, and no worker has claimed; interrupted ones are among them. */
export const REPLAYED = selection("ready = 1 AND state = 'stored' AND replayed = 1")

function selection(which: string): Selection {
  return {
    types: `
      WITH RECURSIVE types (type) AS (
        SELECT min(event_type) FROM entries WHERE ${which}
        UNION ALL
        SELECT (SELECT min(event_type) FROM entries WHERE ${which} AND event_type > type)
        FROM types WHERE type IS NOT NULL
      )
      SELECT type FROM types WHERE type IS NOT NULL`,
    due: `
      SELECT id, due_at FROM entries WHERE ${which} AND event_type = ? AND due_at <= ?
      ORDER BY due_at, id LIMIT ?`,
    next: `SELECT min(due_at) AS due_at FROM entries WHERE ${which} AND event_type = ?`,
  }
}

/** By jumps through the index from type to type: it costs the same however many entries there are. */
export function readyTypes(db: Connection, { types }: Selection): string[] {
  return db.all<{ type: string }>(types).map(({ type }) => type)
}

function nextDueInMs(
  db: Connection,
  { next }: Selection,
  types: readonly string[],
  now: number,
): number | undefined {
  const dueAt = Math.min(
    ...types.map((type) => db.get<{ due_at: number | null }>(next, type)?.due_at ?? Infinity),
  )
  return dueAt === Infinity ? undefined : dueAt - now
}

function renew(
  db: Connection,
  sql: string,
  claims: readonly ClaimToken[],
  leaseEnd: number,
  now: number,
): Set<number> {
  const held = claims.filter(({ id, token }) => db.run(sql, leaseEnd, now, id, token).changes === 1)
  return new Set(held.map(({ id }) => id))
}

const CLAIM = `
  UPDATE entries SET state = 'running', due_at = ?, due_set_at = ?, token = token + 1
  WHERE id = ? RETURNING ${CLAIM_COLUMNS}`

// Counted once for a claim, however often it is said to begin.
const BEGIN = `
  UPDATE entries SET due_at = ?, due_set_at = ?, attempts = attempts + (begun_by <> token), begun_by = token
  WHERE id = ? AND token = ? AND state = 'running'`

const EXTEND =
  "UPDATE entries SET due_at = ?, due_set_at = ? WHERE id = ? AND token = ? AND state = 'running'"

const FINISH = `
  UPDATE entries SET
    state = ?1, due_at = ?2, ready = ?2 IS NOT NULL, finished_at = ?3,
    -- an entry that has been handled does not keep the error of an earlier attempt
    reason = CASE WHEN ?1 = 'handled' THEN NULL ELSE ifnull(?4, reason) END,
    attempts = attempts - (?5 AND begun_by = token), begun_by = iif(?6, begun_by, 0), due_set_at = ?7
  WHERE id = ?8 AND token = ?9 AND state = 'running' RETURNING order_key`

const SET_AHEAD = "state IN ('stored', 'running', 'retrying') AND due_set_at > ?1"
const LATEST_SET_AHEAD = `SELECT max(due_set_at) AS latest FROM entries WHERE ${SET_AHEAD}`
const SET_ANEW = `
  UPDATE entries SET due_at = ?1 + (due_at - due_set_at), due_set_at = ?1 WHERE ${SET_AHEAD}`

const END_NOW =
  "UPDATE entries SET finished_at = ?1 WHERE state IN ('handled', 'dead', 'discarded') AND finished_at > ?1"

const UNHANDLED = "SELECT id, order_key FROM entries WHERE state = 'unhandled' LIMIT ?"
const UNHANDLED_OF_TYPE =
  "SELECT id, order_key FROM entries WHERE state = 'unhandled' AND event_type = ? LIMIT ?"

const REQUEUE = "UPDATE entries SET state = 'stored', due_at = ?1, due_set_at = ?1, ready = ?2 WHERE id = ?3"
