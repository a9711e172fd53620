import type { ClaimedEntry, ClaimEnd, ClaimEntries, ClaimToken, EventTypes } from '../inbox.js'
import { MOVES } from '../states.js'
import type { Connection } from './connection.js'
import { giveTurn } from './order.js'
import { CLAIM_COLUMNS, callbackOf, type CallbackRow } from './row.js'

export function claim(
  db: Connection,
  { eventTypes, limit, leaseMs }: ClaimEntries,
  now: number,
): ClaimedEntry[] {
  const due = (eventTypes === 'any' ? readyTypes(db) : eventTypes).flatMap((type) =>
    db.all<{ id: number; due_at: number }>(DUE, type, now, limit),
  )
  return due
    .sort((a, b) => a.due_at - b.due_at || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => {
      const row = db.get<ClaimedRow>(CLAIM, now + leaseMs, id)!
      return {
        id,
        token: row.token,
        callback: callbackOf(row),
        attempt: row.attempts,
        replayed: row.replayed === 1,
      }
    })
}

export function extend(
  db: Connection,
  claims: readonly ClaimToken[],
  leaseMs: number,
  now: number,
): Set<number> {
  const held = claims.filter(({ id, token }) => db.run(EXTEND, now + leaseMs, id, token).changes === 1)
  return new Set(held.map(({ id }) => id))
}

export function finish(db: Connection, { id, token }: ClaimToken, result: ClaimEnd, now: number): boolean {
  const { move } = result
  const ended = db.get<{ order_key: string | null }>(
    FINISH,
    MOVES[move].to,
    move === 'reschedule' ? now + result.delayMs : null,
    move === 'complete' || move === 'giveUp' ? now : null,
    'error' in result ? result.error : null,
    // What nobody had a handler for has not been tried.
    move === 'setAside' ? 1 : 0,
    id,
    token,
  )
  if (ended && ended.order_key !== null) giveTurn(db, ended.order_key)
  return ended !== undefined
}

export interface AdoptStep {
  readonly afterId: number
  /** How many entries to look at. */
  readonly limit: number
  readonly now: number
}

/** Adopts what is unhandled among some entries, and tells the last of them, or undefined at the end. */
export function adoptSome(
  db: Connection,
  eventTypes: EventTypes,
  { afterId, limit, now }: AdoptStep,
): { adopted: number; lastId: number | undefined } {
  const rows = db.all<{ id: number; event_type: string; order_key: string | null }>(UNHANDLED, afterId, limit)
  const fitting = rows.filter(({ event_type: type }) => eventTypes === 'any' || eventTypes.includes(type))
  for (const { id, order_key: orderKey } of fitting) {
    db.run(ADOPT, now, orderKey === null ? 1 : 0, id)
    if (orderKey !== null) giveTurn(db, orderKey)
  }
  return { adopted: fitting.length, lastId: rows.length < limit ? undefined : rows.at(-1)!.id }
}

interface ClaimedRow extends CallbackRow {
  readonly token: number
  readonly attempts: number
  readonly replayed: number
}

/** By jumps through the index from type to type: it costs the same however many entries there are. */
function readyTypes(db: Connection): string[] {
  return db.all<{ type: string }>(READY_TYPES).map(({ type }) => type)
}

const READY_TYPES = `
  WITH RECURSIVE types (type) AS (
    SELECT min(event_type) FROM entries WHERE ready = 1
    UNION ALL
    SELECT (SELECT min(event_type) FROM entries WHERE ready = 1 AND event_type > type)
    FROM types WHERE type IS NOT NULL
  )
  SELECT type FROM types WHERE type IS NOT NULL`

const DUE = `
  SELECT id, due_at FROM entries WHERE ready = 1 AND event_type = ? AND due_at <= ?
  ORDER BY due_at, id LIMIT ?`

const CLAIM = `
  UPDATE entries SET state = 'running', due_at = ?, token = token + 1, attempts = attempts + 1
  WHERE id = ? RETURNING ${CLAIM_COLUMNS}`

const EXTEND = "UPDATE entries SET due_at = ? WHERE id = ? AND token = ? AND state = 'running'"

const FINISH = `
  UPDATE entries SET
    state = ?1, due_at = ?2, ready = ?2 IS NOT NULL, finished_at = ?3, reason = ifnull(?4, reason),
    attempts = attempts - ?5
  WHERE id = ?6 AND token = ?7 AND state = 'running' RETURNING order_key`

const UNHANDLED = `
  SELECT id, event_type, order_key FROM entries
  WHERE state = 'unhandled' AND finished_at IS NULL AND id > ? ORDER BY id LIMIT ?`

const ADOPT = "UPDATE entries SET state = 'stored', due_at = ?, ready = ? WHERE id = ?"
