import type { AskedTypes } from '../handled-types.js'
import type { ClaimedEntry, ClaimEntries, Claims, ClaimToken } from '../inbox.js'
import { CALLBACK_COLUMNS, callbackOf, type BigInteger, type CallbackRow } from './row.js'
import { LATEST_RESULT, withPastAttempt } from './past-attempts.js'
import { storedText } from './sql-text.js'
import type { Transaction } from './transaction.js'

/** Takes entries that are due. Claims of other processes at the same time take other entries, and wait for none. */
export async function claim(tx: Transaction, request: ClaimEntries): Promise<Omit<Claims, 'clockSetBackMs'>> {
  const { eventTypes, limit, leaseMs, interrupted = false } = request
  const { now } = tx
  const types = eventTypes === 'any' ? null : eventTypes.map(storedText)
  const sql = interrupted ? INTERRUPTED : ORDINARY
  const rows = await tx.all<ClaimedRow>(sql.claim, types, now, limit, now + leaseMs)
  const [after] = await tx.all<AfterRow>(sql.after, types, now)
  const entries = rows
    .sort((a, b) => Number(a.was_due_at) - Number(b.was_due_at) || Number(BigInt(a.id) - BigInt(b.id)))
    .map(claimedEntryOf)
  const nextDueAt = after!.next_due_at
  const dueInMs = Number(nextDueAt) - now
  return {
    entries,
    nextDueInMs:
      entries.length < limit && nextDueAt !== null ? (dueInMs > 0 ? dueInMs : LOCKED_AGAIN_MS) : undefined,
    interruptedIsDue: after!.interrupted_is_due,
  }
}

/** Records the types that were asked for, at most once in a while. */
export async function recordTypes(
  tx: Transaction,
  { eventTypes }: ClaimEntries,
  asked: AskedTypes,
): Promise<void> {
  // In a fixed order, or two transactions could wait for each other.
  const types = asked.toRecord(eventTypes, tx.now).map(storedText).sort()
  if (types.length > 0) await tx.run(RECORD_TYPES, types, tx.now)
}

/** Records that the handlers of these entries begin. Returns the ids of those that are held. */
export function begin(tx: Transaction, claims: readonly ClaimToken[], leaseMs: number): Promise<Set<string>> {
  return renew(tx, BEGIN, claims, leaseMs)
}

export function extend(
  tx: Transaction,
  claims: readonly ClaimToken[],
  leaseMs: number,
): Promise<Set<string>> {
  return renew(tx, EXTEND, claims, leaseMs)
}

/**
 * Corrects due times and ends that were set at a time that is now in the future. The clock has been set back since, or a
 * standby whose clock is behind has become the primary server. Returns how far ahead the latest due time was set, in
 * milliseconds.
 */
export async function setTimesAnew(tx: Transaction): Promise<number> {
  for (const sql of ENDS_NOW) await tx.run(sql, tx.now)
  const [latest] = await tx.all<{ ahead: BigInteger | null }>(LATEST_SET_AHEAD, tx.now)
  if (latest!.ahead === null) return 0
  await tx.run(SET_ANEW, tx.now)
  return Math.max(0, Number(latest!.ahead))
}

/** What is due and was not taken is locked by somebody, perhaps for long: to claim again at once would be a busy loop. */
const LOCKED_AGAIN_MS = 50

interface ClaimedRow extends CallbackRow {
  readonly id: BigInteger
  readonly token: number
  readonly attempts: number
  readonly replayed: boolean
  readonly was_due_at: BigInteger
}

interface AfterRow {
  readonly next_due_at: BigInteger | null
  readonly interrupted_is_due: boolean
}

function claimedEntryOf(row: ClaimedRow): ClaimedEntry {
  return {
    id: String(row.id),
    token: row.token,
    callback: callbackOf(row),
    attempt: row.attempts + 1,
    replayed: row.replayed,
  }
}

async function renew(
  tx: Transaction,
  sql: string,
  claims: readonly ClaimToken[],
  leaseMs: number,
): Promise<Set<string>> {
  const [ids, tokens] = [claims.map(({ id }) => id), claims.map(({ token }) => token)]
  const rows = await tx.all<{ id: BigInteger }>(sql, ids, tokens, tx.now + leaseMs, tx.now)
  return new Set(rows.map(({ id }) => String(id)))
}

const ORDINARY = selection('NOT interrupted', 'begun_by = 0')
const INTERRUPTED = selection('interrupted', 'begun_by > 0')

/**
 * The statements that select entries, either interrupted ones or all others. Entries that wait are looked up by type in an
 * index, so that a backlog of other types costs nothing. Entries that run are few, and all of them are read.
 * Parameters: $1 the types, or null for any; $2 the current time.
 */
function selection(waits: string, runs: string): { claim: string; after: string } {
  const waiting = `ready AND state IN ('stored', 'retrying') AND ${waits}`
  const running = `state = 'running' AND ${runs} AND ($1::text[] IS NULL OR event_type = ANY ($1::text[]))`
  const types = `
    WITH RECURSIVE present (type) AS (
      SELECT min(event_type) FROM entries WHERE ${waiting} AND $1::text[] IS NULL
      UNION ALL
      SELECT (SELECT min(event_type) FROM entries WHERE ${waiting} AND event_type > present.type)
      FROM present WHERE present.type IS NOT NULL
    ),
    types (type) AS (
      SELECT type FROM present WHERE type IS NOT NULL UNION ALL SELECT DISTINCT unnest($1::text[])
    )`
  return {
    claim: `${types},
    waiting AS MATERIALIZED (
      SELECT due.id, due.due_at FROM types CROSS JOIN LATERAL (
        SELECT id, due_at FROM entries
        WHERE ${waiting} AND event_type = types.type AND due_at <= $2::bigint
        ORDER BY due_at, id LIMIT $3::integer FOR UPDATE SKIP LOCKED
      ) AS due
    ),
    running AS MATERIALIZED (
      SELECT id, lease_until AS due_at FROM entries WHERE ${running} AND lease_until <= $2::bigint
      ORDER BY lease_until, id LIMIT $3::integer FOR UPDATE SKIP LOCKED
    ),
    taken AS MATERIALIZED (
      SELECT id, due_at FROM (SELECT * FROM waiting UNION ALL SELECT * FROM running) AS due
      ORDER BY due_at, id LIMIT $3::integer
    )
    UPDATE entries SET
      state = 'running', due_at = NULL, lease_until = $4::bigint, due_set_at = $2::bigint, token = token + 1
    FROM taken WHERE entries.id = taken.id
    RETURNING entries.id, token, attempts, replayed, taken.due_at AS was_due_at, secret_fingerprint, body,
      trace_context, ${CALLBACK_COLUMNS}`,
    after: `${types}
    SELECT least(
      (SELECT min(due.due_at) FROM types CROSS JOIN LATERAL (
        SELECT due_at FROM entries WHERE ${waiting} AND event_type = types.type ORDER BY due_at, id LIMIT 1
      ) AS due),
      (SELECT min(lease_until) FROM entries WHERE ${running})
    ) AS next_due_at,
    EXISTS (
      SELECT 1 FROM entries WHERE ready AND state IN ('stored', 'retrying') AND interrupted AND due_at <= $2::bigint
        AND ($1::text[] IS NULL OR event_type = ANY ($1::text[]))
    ) OR EXISTS (
      SELECT 1 FROM (
        -- One that somebody has locked cannot be claimed: the others must not wait for it.
        SELECT 1 FROM entries WHERE state = 'running' AND begun_by > 0 AND lease_until <= $2::bigint
          AND ($1::text[] IS NULL OR event_type = ANY ($1::text[]))
        LIMIT 1 FOR UPDATE SKIP LOCKED
      ) AS free
    ) AS interrupted_is_due`,
  }
}

const RECORD_TYPES = `
  INSERT INTO handled_types (event_type, seen_at) SELECT unnest($1::text[]), $2::bigint
  ON CONFLICT (event_type) DO UPDATE SET seen_at = excluded.seen_at`

const HELD = `
  FROM unnest($1::bigint[], $2::integer[]) AS claim (id, token)
  WHERE entries.id = claim.id AND entries.token = claim.token AND state = 'running' RETURNING entries.id`

// A claim counts as one attempt, also if `begin` is called twice for it. Here and below no column of an index is changed.
const BEGIN = `
  UPDATE entries SET lease_until = $3::bigint, due_set_at = $4::bigint,
    attempts = attempts + (begun_by <> entries.token)::integer, begun_by = entries.token,
    past_attempts = CASE WHEN begun_by <> entries.token AND begun_at IS NOT NULL
      THEN ${withPastAttempt(LATEST_RESULT, 'handled_at')} ELSE past_attempts END,
    begun_at = CASE WHEN begun_by = entries.token THEN begun_at ELSE $4::bigint END, handled_at = NULL
  ${HELD}`

const EXTEND = `UPDATE entries SET lease_until = $3::bigint, due_set_at = $4::bigint ${HELD}`

const SET_AHEAD = "state IN ('stored', 'running', 'retrying') AND due_set_at > $1::bigint"
// Compared with the clock as it is now: what arrived while this transaction waited was not set ahead.
const LATEST_SET_AHEAD = `SELECT max(due_set_at) - now_ms() AS ahead FROM entries WHERE ${SET_AHEAD}`
const SET_ANEW = `
  UPDATE entries SET due_at = $1::bigint + (due_at - due_set_at), lease_until = $1::bigint + (lease_until - due_set_at),
    due_set_at = $1::bigint
  WHERE ${SET_AHEAD}`

// Otherwise they would be kept until the clock shows that time again, which may take years.
const ENDS_NOW = [
  "UPDATE entries SET finished_at = $1::bigint WHERE state = 'handled' AND finished_at > $1::bigint",
  "UPDATE entries SET finished_at = $1::bigint WHERE state IN ('dead', 'discarded') AND finished_at > $1::bigint",
  'UPDATE handled_types SET seen_at = $1::bigint WHERE seen_at > $1::bigint',
]
