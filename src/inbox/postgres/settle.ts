import type { EntryId } from '../../callback/callback.js'
import { ATTEMPT_RESULT } from '../attempt-history.js'
import type { ClaimEnd, SettledClaim } from '../inbox.js'
import { MOVES } from '../states.js'
import { lockOrderKeys, promoteNext } from './order.js'
import { LATEST_RESULT, withPastAttempt } from './past-attempts.js'
import type { BigInteger } from './row.js'
import { storedText } from './sql-text.js'
import type { Transaction } from './transaction.js'

/** Ends claims. Returns the ids of those that were held, and whether another entry is due now. */
export async function settle(
  tx: Transaction,
  ends: readonly SettledClaim[],
  schema: string,
): Promise<{ held: Set<EntryId>; isAnyDue: boolean }> {
  const ids = ends.map(({ claim }) => claim.id)
  const ordered = await tx.all<{ order_key: BigInteger }>(ORDER_KEYS, ids)
  const keys = ordered.map(({ order_key: key }) => String(key))
  await lockOrderKeys(tx, keys, schema)
  const rows = await tx.all<{ id: BigInteger; is_due: boolean }>(
    SETTLE,
    ids,
    ends.map(({ claim }) => claim.token),
    ends.map(({ end }) => MOVES[end.move].to),
    ends.map(({ end }) => delayOf(end)),
    ends.map(({ end }) => ('error' in end ? storedText(end.error) : null)),
    ends.map(({ end }) => end.move === 'handBack'),
    tx.now,
    ends.map(({ end }) => ATTEMPT_RESULT[end.move]),
    ends.map(({ end }) => ('code' in end && end.code) || null),
  )
  const promoted = await promoteNext(tx, keys)
  return {
    held: new Set(rows.map(({ id }) => String(id))),
    isAnyDue: promoted > 0 || rows.some(({ is_due: isDue }) => isDue),
  }
}

/** In how many milliseconds the entry is due again; null if it has ended. */
function delayOf(end: ClaimEnd): number | null {
  if (end.move === 'handBack') return 0
  return end.move === 'reschedule' ? end.delayMs : null
}

const ORDER_KEYS =
  'SELECT DISTINCT order_key FROM entries WHERE id = ANY ($1::bigint[]) AND order_key IS NOT NULL'

const SETTLE = `
  UPDATE entries SET
    state = given.state,
    due_at = $7::bigint + given.delay_ms,
    lease_until = NULL,
    due_set_at = $7::bigint,
    ready = given.delay_ms IS NOT NULL,
    finished_at = CASE WHEN given.delay_ms IS NULL THEN $7::bigint END,
    -- A handled entry does not keep the error of an earlier attempt.
    reason = CASE WHEN given.state = 'handled' THEN NULL ELSE coalesce(given.error, reason) END,
    -- Nothing was tried.
    attempts = attempts - (given.handed_back AND begun_by = entries.token)::integer,
    -- What was interrupted before and is handed back is still to be handled by itself.
    interrupted = given.handed_back AND begun_by > 0,
    begun_by = CASE WHEN given.handed_back THEN begun_by ELSE 0 END,
    -- One that succeeds stays the latest, which changes the least.
    past_attempts = CASE
      WHEN begun_at IS NULL OR (given.state = 'handled' AND begun_by = entries.token) THEN past_attempts
      WHEN begun_by = entries.token THEN ${withPastAttempt('given.result', '$7::bigint', 'given.code', 'given.error')}
      ELSE ${withPastAttempt(LATEST_RESULT, 'handled_at')}
    END,
    begun_at = CASE WHEN given.state = 'handled' AND begun_by = entries.token THEN begun_at END,
    handled_at = CASE WHEN given.state = 'handled' AND begun_by = entries.token THEN $7::bigint END
  FROM unnest(
    $1::bigint[], $2::integer[], $3::text[], $4::bigint[], $5::text[], $6::boolean[], $8::text[], $9::text[]
  ) AS given (id, token, state, delay_ms, error, handed_back, result, code)
  WHERE entries.id = given.id AND entries.token = given.token AND entries.state = 'running'
  RETURNING entries.id, due_at <= $7::bigint AS is_due`
