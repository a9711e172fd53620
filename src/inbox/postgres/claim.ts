import type { EntryId } from '../../callback/callback.js'
import type { ClaimedEntry, ClaimEntries, Claims, ClaimToken } from '../engine.js'
import { MOVES } from '../states.js'
import { callLeaseFunction, type LeaseRow, type Timed } from './call-lease-function.js'
import { typesWithHandlers } from './look.js'
import { heldBy } from './lease-function.js'
import { lockOrderKeys, promoteNext } from './order.js'
import { withPastAttempt } from './past-attempts.js'
import { costByEntries } from './search.js'
import { callbackOf, type BigInteger, type CallbackRow } from '../stored-entry.js'
import {
  ENDS_BY_STEP,
  EXAMINED_BY_STEP,
  type TimesCorrection,
  type UnfinishedEntry,
} from '../times-correction.js'
import { originalText, storedText } from './sql-text.js'
import { typeKey } from './text-key.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/** Takes entries that are due. Claims of other processes at the same time take other entries, and wait for none. */
export async function claim(
  all: Transaction['all'],
  { eventTypes, limit, leaseMs, interrupted = false, beginBelow = 0 }: ClaimEntries,
  interruptedFrom: number,
  settings: TransactionSettings,
): Promise<
  | Timed<
      Omit<Claims, 'clockSetBackMs'> & {
        /** Whether the clock of the database has been set back since the next entry was stored or claimed. */
        readonly isAhead: boolean
        /** Whether no interrupted entry is due, not even one that is locked. */
        readonly noneIsInterrupted: boolean
      }
    >
  | undefined
> {
  const types = eventTypes === 'any' ? null : [...new Set(eventTypes)].map(typeKey)
  const values = [types, limit, leaseMs, interrupted, interrupted ? 0 : beginBelow, interruptedFrom]
  const rows = await callLeaseFunction<ClaimedRow | AfterRow>(all, settings, CLAIM, CLAIM_PARAMETERS, values)
  if (!rows) return undefined
  const {
    next_due_at: nextDueAt,
    next_is_ahead: nextIsAhead,
    interrupted_is_due: interruptedIsDue,
    found_at: at,
  } = rows.pop() as AfterRow
  const entries = (rows as ClaimedRow[]).map(claimedEntryOf)
  const dueInMs = Number(nextDueAt) - Number(at)
  const nextDueInMs = nextDueAt === null ? undefined : dueInMs > 0 ? dueInMs : LOCKED_AGAIN_MS
  return {
    now: Number(at),
    result: {
      entries,
      nextDueInMs,
      interruptedIsDue: interruptedIsDue === true,
      noneIsInterrupted: interruptedIsDue === false,
      isAhead: nextIsAhead ?? false,
    },
  }
}

/** Records that a worker asked for these types. */
export async function recordTypes(tx: Transaction, types: readonly string[]): Promise<void> {
  // In a fixed order, or two transactions could wait for each other. Each type once, because one statement cannot write a row twice.
  if (types.length > 0) await tx.run(RECORD_TYPES, [...new Set(types.map(storedText))].sort(), tx.now)
}

/**
 * Stores again some of the entries that no worker has a handler for any more, if their leases have ended. Otherwise they would be
 * running as long as there is no handler: operators cannot discard what is running, and the next entries of their order keys
 * would wait.
 */
export async function requeueUnhandled(tx: Transaction, schema: string): Promise<void> {
  const handled = await typesWithHandlers(tx)
  if (handled === null) return
  await costByEntries(tx)
  const found = await tx.all<{ id: BigInteger; order_key: string | null }>(TO_REQUEUE, tx.now, handled)
  if (found.length === 0) return
  const orderKeys = [...new Set(found.map(({ order_key: key }) => key).filter((key) => key !== null))]
  await lockOrderKeys(tx, orderKeys, schema)
  await tx.run(
    REQUEUE,
    tx.now,
    found.map(({ id }) => id),
  )
  await promoteNext(tx, orderKeys)
}

/** Renews leases; `begin` also records that the handlers begin. Returns the ids of those that are held. */
export async function renew(
  tx: Transaction,
  how: 'begin' | 'extend',
  claims: readonly ClaimToken[],
  leaseMs: number,
): Promise<Set<EntryId>> {
  const [ids, tokens] = [claims.map(({ id }) => id), claims.map(({ token }) => token)]
  const rows = await tx.all<{ id: BigInteger }>(RENEW[how], ids, tokens, tx.now + leaseMs, tx.now)
  return new Set(rows.map(({ id }) => String(id)))
}

/**
 * Corrects due times and ends that were set at a time that is now in the future. The clock has been set back since, or a
 * standby whose clock is behind has become the primary server.
 */
export async function setTimesAnew(
  tx: Transaction,
  at: UnfinishedEntry | undefined,
): Promise<TimesCorrection> {
  await costByEntries(tx)
  await tx.run(SEEN_NOW, tx.now)
  let ends = 0
  for (const sql of ENDS_NOW) ends += await tx.run(sql, tx.now, ENDS_BY_STEP)
  const [row] = await tx.all<ExaminedRow>(EXAMINE, at?.id ?? '0', EXAMINED_BY_STEP, tx.now)
  const { examined, last, ahead } = row!
  if (ahead !== null) await tx.run(SET_ANEW, tx.now, at?.id ?? '0', last)
  const next = { state: 'running', id: last === null ? (at?.id ?? '0') : String(last) } as const
  const isComplete = Number(examined) < EXAMINED_BY_STEP && ends < ENDS_BY_STEP
  return { aheadMs: Math.max(0, Number(ahead)), ...(!isComplete && { next }) }
}

/** A due entry that was not taken is locked by somebody, perhaps for long: claiming again immediately would be a busy loop. */
const LOCKED_AGAIN_MS = 50

interface ClaimedRow extends LeaseRow, CallbackRow {
  readonly id: BigInteger
  readonly token: number
  readonly attempts: number
  readonly begun: boolean
  readonly replayed: boolean
  /** In Base64. */
  readonly body: string
}

interface AfterRow extends LeaseRow {
  readonly next_due_at: BigInteger | null
  readonly next_is_ahead: boolean | null
  /** Null if those that are due are locked. */
  readonly interrupted_is_due: boolean | null
}

interface ExaminedRow {
  readonly examined: BigInteger
  readonly last: BigInteger | null
  /** Null if none of them was set at a time that is now in the future. */
  readonly ahead: BigInteger | null
}

function claimedEntryOf(row: ClaimedRow): ClaimedEntry {
  return {
    id: String(row.id),
    token: row.token,
    callback: callbackOf(row, Buffer.from(row.body, 'base64'), originalText),
    attempt: row.begun ? row.attempts : row.attempts + 1,
    replayed: row.replayed,
    begun: row.begun,
  }
}

const CLAIM = 'claim_entries'
const CLAIM_PARAMETERS = ['bigint[]', 'integer', 'bigint', 'boolean', 'integer', 'bigint']

const RECORD_TYPES = `
  INSERT INTO handled_types (event_type, seen_at) SELECT unnest($1::text[]), $2::bigint
  ON CONFLICT (event_type) DO UPDATE SET seen_at = excluded.seen_at`

/** How many entries of each index are stored again at a time. Each may take one of the locks that all sessions of the server share. */
const REQUEUED_AT_ONCE = 64
const LEASE_ENDED = "state = 'running' AND due_at <= $1::bigint"
// As a text, because it uses all 64 bits: a driver that returns each bigint as a number would round it.
const TO_REQUEUE = ['ready AND begun_by > 0', 'begun_by = 0']
  .map(
    // Each part reads an index of few entries, and none of those that wait.
    (where) =>
      `(SELECT id, order_key::text FROM due WHERE ${where} AND ${LEASE_ENDED} AND type <> ALL ($2::bigint[]) LIMIT ${REQUEUED_AT_ONCE})`,
  )
  .join(' UNION ALL ')
// What somebody has locked is skipped: a claim must not wait for the transaction of a handler.
const REQUEUE = `
  UPDATE due SET state = '${MOVES.requeue.to}', due_at = $1::bigint, due_set_at = $1::bigint
  WHERE id IN (
    SELECT id FROM due WHERE id = ANY ($2::bigint[]) AND ${LEASE_ENDED} FOR UPDATE SKIP LOCKED
  )`

const RENEW = {
  extend: renewal(''),
  // A claim counts as one attempt, also if this is run twice for it.
  begin: renewal(`attempts = attempts + (begun_by <> token)::integer, begun_by = token,
    past_attempts = CASE WHEN begun_by <> token AND begun_at IS NOT NULL THEN ${withPastAttempt("'interrupted'")} ELSE past_attempts END,
    begun_at = CASE WHEN begun_by = token THEN begun_at ELSE $4::bigint END,`),
}

function renewal(begun: string): string {
  return `
  UPDATE due SET ${begun} due_at = $3::bigint, due_set_at = $4::bigint
  WHERE ${heldBy('$1::bigint[]', '$2::integer[]')} RETURNING id`
}

// Compared with the clock as it is now as well: what others have set since this transaction began was not set ahead. A lease that
// another process has just taken would be shortened by as long as that is.
const EXAMINE = `
  SELECT count(*) AS examined, max(id) AS last, max(due_set_at) FILTER (WHERE ${isAhead('due_set_at', '$3')}) - now_ms() AS ahead
  FROM (SELECT id, due_set_at FROM due WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint) AS examined`
const SET_ANEW = `
  UPDATE due SET due_at = now_ms() + (due_at - due_set_at), due_set_at = now_ms()
  WHERE id > $2::bigint AND id <= $3::bigint AND ${isAhead('due_set_at', '$1')}`

// Otherwise they would be kept until the clock shows that time again, which may take years. Another process may be correcting others.
const ENDS_NOW = ['handled', 'dead', 'discarded'].map(
  (state) => `
  WITH ahead AS MATERIALIZED (
    SELECT id FROM ended WHERE state = '${state}' AND ${isAhead('at', '$1')} LIMIT $2::bigint FOR UPDATE SKIP LOCKED
  )
  UPDATE ended SET at = $1::bigint FROM ahead WHERE ended.id = ahead.id`,
)

/** The first comparison needs no call, and has an index. */
function isAhead(column: string, transactionBegan: string): string {
  return `${column} > ${transactionBegan}::bigint AND ${column} > now_ms()`
}

const SEEN_NOW = 'UPDATE handled_types SET seen_at = $1::bigint WHERE seen_at > $1::bigint'
