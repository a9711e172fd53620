import type { EntryId } from '../../callback/callback.js'
import type { ClaimEntries, Claims, ClaimToken, SettledClaim } from '../engine.js'
import { ATTEMPT_RESULT } from '../attempt-history.js'
import { MOVES } from '../states.js'
import { bufferOf, callbackOf, type CallbackRow } from '../stored-entry.js'
import {
  ENDS_BY_STEP,
  EXAMINED_BY_STEP,
  statesFrom,
  type TimesCorrection,
  type UnfinishedEntry,
} from '../times-correction.js'
import type { Connection } from './connection.js'
import { unhandledTypes } from './handled-types.js'
import { promoteNext } from './order.js'
import { withPastAttempt } from './past-attempts.js'
import { unpackUuid, type PackedUuid } from './packed-uuid.js'
import { entryIdOf, rowIdOf } from './row-id.js'
import type { SourceRow } from './sources.js'
import { distinctTypes } from './types-in-index.js'

export function claim(
  db: Connection,
  now: number,
  { eventTypes, limit, leaseMs, interrupted = false, beginBelow = 0 }: ClaimEntries,
): Claims & {
  /** Whether the clock has been set back since the time of an entry was set: another process may have set it meanwhile. */
  readonly isSetAhead: boolean
} {
  const sql = interrupted ? INTERRUPTED : ORDINARY
  // Each type once, or the same entry would be claimed twice.
  const types = eventTypes === 'any' ? distinctTypes(db, sql.where) : [...new Set(eventTypes)]
  const due = types
    .flatMap((type) => db.all<{ id: number; due_at: number }>(sql.due, type, now, limit + 1))
    .sort((a, b) => a.due_at - b.due_at || a.id - b.id)
  const moreIsDue = due.length > limit
  const entries = due.slice(0, limit).map(({ id }) => {
    const row = db.get<ClaimedRow>(CLAIM, now + leaseMs, now, id, interrupted ? 0 : beginBelow)!
    const begun = row.begun === 1
    return {
      id: entryIdOf(id),
      token: row.token,
      callback: callbackOf(
        { ...row, ...db.sources.rowOf(db, row.source), idempotency_key: unpackUuid(row.idempotency_key) },
        bufferOf(row.body),
      ),
      attempt: begun ? row.attempts : row.attempts + 1,
      replayed: row.replayed === 1,
      begun,
      isOrdered: row.is_ordered === 1,
    }
  })
  const next = moreIsDue ? undefined : nextOf(db, sql, types)
  const nextInterrupted = nextOf(
    db,
    INTERRUPTED,
    eventTypes === 'any' ? distinctTypes(db, INTERRUPTED.where) : eventTypes,
  )
  return {
    entries,
    moreIsDue,
    nextDueInMs: next && next.due_at - now,
    interruptedIsDue: nextInterrupted !== undefined && nextInterrupted.due_at <= now,
    isSetAhead: [next, nextInterrupted].some((each) => each && each.due_set_at - now >= AHEAD_MS),
  }
}

/** Renews leases; `begin` also records that the handlers begin. Returns the ids of those that are held. */
export function renew(
  db: Connection,
  now: number,
  how: 'begin' | 'extend',
  claims: readonly ClaimToken[],
  leaseMs: number,
): Set<EntryId> {
  const held = claims.filter(({ id, token }) => {
    const rowId = rowIdOf(id)
    return rowId !== undefined && db.run(RENEW[how], now + leaseMs, now, rowId, token).changes === 1
  })
  return new Set(held.map(({ id }) => id))
}

/** Ends claims. Returns the ids of those that were held. */
export function settle(db: Connection, now: number, ends: readonly SettledClaim[]): Set<EntryId> {
  const held = ends.filter((each) => settleOne(db, each, now))
  return new Set(held.map(({ claim }) => claim.id))
}

function settleOne(db: Connection, { claim: { id, token }, end }: SettledClaim, now: number): boolean {
  const rowId = rowIdOf(id)
  if (rowId === undefined) return false
  const { move } = end
  const isDueAgain = move === 'reschedule' || move === 'handBack'
  const ended = db.get<{ order_key: string | null }>(
    SETTLE,
    MOVES[move].to,
    isDueAgain ? now + (move === 'reschedule' ? end.delayMs : 0) : null,
    move === 'complete' || move === 'deadLetter' ? now : null,
    'error' in end ? end.error : null,
    move === 'handBack' ? 1 : 0,
    now,
    rowId,
    token,
    ATTEMPT_RESULT[move],
    ('code' in end && end.code) || null,
    // SQLite ends a text for JSON at U+0000, which JSON.stringify escapes.
    'error' in end ? JSON.stringify(end.error) : null,
  )
  if (ended && ended.order_key !== null) promoteNext(db, ended.order_key)
  return ended !== undefined
}

/**
 * Stores again what no worker has a handler for any more, if its lease has ended. Otherwise it would be running as long as there
 * is no handler: operators cannot discard what is running, and the next entries of its order key would wait.
 */
export function requeueUnhandled(db: Connection, now: number): void {
  const types = unhandledTypes(db)
  if (types.size === 0) return
  const requeued = db.all<{ order_key: string | null }>(REQUEUE, now, JSON.stringify([...types]))
  for (const { order_key: orderKey } of requeued) if (orderKey !== null) promoteNext(db, orderKey)
}

/** Corrects due times and ends that were set at a time that is now in the future, because the clock has been set back since. */
export function setTimesAnew(db: Connection, now: number, at: UnfinishedEntry | undefined): TimesCorrection {
  // Otherwise they would be kept until the clock shows that time again, which may take years.
  const { changes: ends } = db.run(END_NOW, now, ENDS_BY_STEP)
  let aheadMs = 0
  let left = EXAMINED_BY_STEP
  let next = at
  for (const { state, id } of statesFrom(at)) {
    const { examined, last, latest } = db.get<ExaminedRow>(EXAMINE, state, Number(id), left)!
    next = { state, id: last === null ? id : entryIdOf(last) }
    if (last === null) continue
    if (latest! > now) db.run(SET_ANEW, now, state, Number(id), last)
    aheadMs = Math.max(aheadMs, latest! - now)
    left -= examined
    if (left === 0) return { aheadMs, next }
  }
  return ends < ENDS_BY_STEP ? { aheadMs } : { aheadMs, next }
}

interface ExaminedRow {
  readonly examined: number
  readonly last: number | null
  readonly latest: number | null
}

interface NextRow {
  readonly due_at: number
  readonly due_set_at: number
}

/** The time of a transaction is taken before it begins, so that another process may write one that is a little later. */
const AHEAD_MS = 1_000

interface ClaimedRow extends Omit<CallbackRow, keyof SourceRow | 'idempotency_key'> {
  readonly idempotency_key: PackedUuid
  readonly source: number
  readonly body: Uint8Array
  readonly token: number
  readonly attempts: number
  readonly begun: 0 | 1
  readonly replayed: number
  readonly is_ordered: number
}

/** Entries that are handled side by side, or interrupted ones; each of the two has an index of its own. */
interface Selection {
  readonly where: string
  readonly due: string
  readonly next: string
}

const ORDINARY = selection('ready = 1 AND begun_by = 0')
const INTERRUPTED = selection('ready = 1 AND begun_by > 0')

function selection(where: string): Selection {
  return {
    where,
    due: `
      SELECT id, due_at FROM entries WHERE ${where} AND event_type = ? AND due_at <= ?
      ORDER BY due_at, id LIMIT ?`,
    next: `SELECT due_at, due_set_at FROM entries WHERE ${where} AND event_type = ? ORDER BY due_at LIMIT 1`,
  }
}

/** The entry that is due first. */
function nextOf(db: Connection, { next }: Selection, types: readonly string[]): NextRow | undefined {
  return types
    .map((type) => db.get<NextRow>(next, type))
    .reduce((first, each) => (first && (!each || first.due_at <= each.due_at) ? first : each), undefined)
}

const CLAIM = `
  UPDATE entries SET
    state = 'running', due_at = ?1, due_set_at = ?2, token = token + 1, attempts = attempts + (attempts < ?4),
    begun_by = iif(attempts < ?4, token + 1, begun_by), begun_at = iif(attempts < ?4, ?2, begun_at)
  WHERE id = ?3
  RETURNING token, attempts, begun_by = token AS begun, replayed, order_key IS NOT NULL AS is_ordered, event_type, idempotency_key,
    signed_at, received_at, source, trace_context, body`

const RENEW = {
  // A repeated call for the same claim counts no further attempt.
  begin: `
  UPDATE entries SET
    due_at = ?1, due_set_at = ?2, attempts = attempts + (begun_by <> token), begun_by = token,
    past_attempts = CASE
      WHEN begun_by <> token AND begun_at IS NOT NULL THEN ${withPastAttempt("'interrupted'")} ELSE past_attempts
    END,
    begun_at = iif(begun_by = token, begun_at, ?2)
  WHERE id = ?3 AND token = ?4 AND state = 'running'`,
  extend: "UPDATE entries SET due_at = ?, due_set_at = ? WHERE id = ? AND token = ? AND state = 'running'",
}

const SETTLE = `
  UPDATE entries SET
    state = ?1, due_at = ?2, ready = ?2 IS NOT NULL, finished_at = ?3,
    -- an entry that has been handled does not keep the error of an earlier attempt
    reason = CASE WHEN ?1 = 'handled' THEN NULL ELSE ifnull(?4, reason) END,
    -- ?5: handed back. The attempt does not count; an entry that was interrupted before is still to be handled alone
    attempts = attempts - (?5 AND begun_by = token), begun_by = iif(?5, begun_by, 0), due_set_at = ?6,
    -- one that succeeds stays the latest, which changes the least
    past_attempts = CASE
      WHEN begun_at IS NULL OR (?1 = 'handled' AND begun_by = token) THEN past_attempts
      WHEN begun_by = token THEN ${withPastAttempt('?9', '?6', '?10', 'json(?11)')}
      ELSE ${withPastAttempt("'interrupted'")}
    END,
    begun_at = CASE WHEN ?1 = 'handled' AND begun_by = token THEN begun_at END,
    handled_at = CASE WHEN ?1 = 'handled' AND begun_by = token THEN ?6 END
  WHERE id = ?7 AND token = ?8 AND state = 'running' RETURNING order_key`

const REQUEUE = `
  UPDATE entries SET state = '${MOVES.requeue.to}', due_at = ?1, due_set_at = ?1
  WHERE state = 'running' AND due_at <= ?1 AND event_type IN (SELECT value FROM json_each(?2)) RETURNING order_key`

const EXAMINE = `
  SELECT count(*) AS examined, max(id) AS last, max(due_set_at) AS latest FROM (
    SELECT id, due_set_at FROM entries INDEXED BY entries_by_state
    WHERE state = ?1 AND finished_at IS NULL AND id > ?2 ORDER BY id LIMIT ?3
  )`
const SET_ANEW = `
  UPDATE entries INDEXED BY entries_by_state SET due_at = ?1 + (due_at - due_set_at), due_set_at = ?1
  WHERE state = ?2 AND finished_at IS NULL AND id > ?3 AND id <= ?4 AND due_set_at > ?1`

const END_NOW = `
  UPDATE entries SET finished_at = ?1 WHERE id IN (
    SELECT id FROM entries WHERE state IN ('handled', 'dead', 'discarded') AND finished_at > ?1 LIMIT ?2
  )`
