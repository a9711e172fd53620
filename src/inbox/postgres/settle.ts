import type { EntryId } from '../../callback/callback.js'
import { ATTEMPT_RESULT } from '../attempt-history.js'
import type { ClaimEnd, SettledClaim } from '../engine.js'
import { MOVES } from '../states.js'
import { bigintArray, textArray } from './binary-arrays.js'
import { callLeaseFunction, type LeaseRow, type Timed } from './call-lease-function.js'
import { orderLock } from './order.js'
import type { BigInteger } from '../stored-entry.js'
import { storedText } from './sql-text.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/** Ends claims. Returns the ids of those that were held, and whether another entry is due now. */
export async function settle(
  all: Transaction['all'],
  ends: readonly SettledClaim[],
  settings: TransactionSettings,
): Promise<Timed<{ held: Set<EntryId>; isAnyDue: boolean }> | undefined> {
  // Arrays that may have NULL are binary: in the text of an array, a session with array_nulls = off reads NULL as a word.
  const values = [
    ends.map(({ claim }) => claim.id),
    ends.map(({ claim }) => claim.token),
    ends.map(({ end }) => MOVES[end.move].to),
    bigintArray(ends.map(({ end }) => delayOf(end))),
    textArray(ends.map(({ end }) => ('error' in end ? storedText(end.error) : null))),
    ends.map(({ end }) => end.move === 'handBack'),
    ends.map(({ end }) => ATTEMPT_RESULT[end.move]),
    textArray(ends.map(({ end }) => ('code' in end && end.code) || null)),
    orderLock(settings.schema),
  ]
  const rows = await callLeaseFunction<SettledRow>(all, settings, 'settle_entries', PARAMETERS, values)
  if (!rows) return undefined
  const { found_at: at, held_ids: ids, is_any_due: isAnyDue } = rows[0]!
  const held = new Set(ids === '' ? [] : ids.split(' '))
  return { now: Number(at), result: { held, isAnyDue } }
}

/**
 * The ids of the entries that have the state of the given end. Only a claim changes the token, and only an end takes the entry
 * from _running_: with the token of the claim, the end is one of this claim.
 */
export async function recordedBefore(tx: Transaction, ends: readonly SettledClaim[]): Promise<EntryId[]> {
  const rows = await tx.all<{ id: BigInteger }>(
    RECORDED,
    ends.map(({ claim }) => claim.id),
    ends.map(({ claim }) => claim.token),
    ends.map(({ end }) => MOVES[end.move].to),
  )
  return rows.map(({ id }) => String(id))
}

const RECORDED = `
  SELECT id FROM (SELECT id, token, state FROM due UNION ALL SELECT id, token, state FROM ended) AS entries
  JOIN unnest($1::bigint[], $2::integer[], $3::text[]) AS given (id, token, state) USING (id, token, state)
  WHERE id = ANY ($1::bigint[])`

/** In how many milliseconds the entry is due again; null if it has ended. */
function delayOf(end: ClaimEnd): bigint | null {
  if (end.move === 'handBack') return 0n
  return end.move === 'reschedule' ? BigInt(end.delayMs) : null
}

interface SettledRow extends LeaseRow {
  readonly held_ids: string
  readonly is_any_due: boolean
}

const LISTS = ['bigint', 'integer', 'text', 'bigint', 'text', 'boolean', 'text', 'text'].map(
  (type) => `${type}[]`,
)
const PARAMETERS = [...LISTS, 'bigint']
