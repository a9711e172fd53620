import type { PruneEntries } from '../operations.js'
import { deletableBefore, type Retention } from '../retention.js'
import type { BigInteger } from '../stored-entry.js'
import type { Transaction } from './transaction.js'

/** Deletes old entries of one state, oldest first. Entries that another transaction is using are left for the next time. */
export async function prune(tx: Transaction, request: PruneEntries, retention: Retention): Promise<number> {
  const [latest] = await tx.all<{ at: BigInteger | null }>(LATEST_SIGNED, tx.now)
  const latestSignedAt = latest!.at === null ? undefined : Number(latest!.at)
  const end = deletableBefore(request, { now: tx.now, latestSignedAt }, retention)
  if (!Number.isFinite(end)) return 0
  const sql = `${old(request.state)} ${request.dryRun === true ? '' : 'FOR UPDATE OF ended SKIP LOCKED'}`
  const rows = await tx.all<{ id: BigInteger }>(sql, Math.floor(end), request.limit)
  if (request.dryRun !== true && rows.length > 0) {
    const ids = rows.map(({ id }) => String(id))
    // In this order, because each statement reads rows that the later ones delete.
    for (const sql of DELETE) await tx.run(sql, ids)
  }
  return rows.length
}

// A time that the service has signed counts no further than the time of arrival: one that was signed far in the future must
// not take the second clock ahead. A hundred of those that were signed latest are enough, because a time that is too early only
// keeps more.
const LATEST_SIGNED = `
  SELECT max(least(signed_at, received_at)) AS at FROM (${[0, 2].map(latestSigned).join(' UNION ALL ')}) AS signed`

function latestSigned(kind: number): string {
  return `(
    SELECT signed_at, received_at FROM entries
    WHERE kind = ${kind} AND signed_at <= $1::bigint ORDER BY signed_at DESC LIMIT 100
  )`
}

function old(state: PruneEntries['state']): string {
  return `
  SELECT ended.id FROM ended JOIN entries ON entries.id = ended.id
  WHERE state = '${state}' AND at < $1::bigint AND entries.signed_at < $1::bigint
    AND NOT EXISTS (
      SELECT 1 FROM entries AS repeat
      WHERE repeat.kind = 1 AND repeat.repeat_of = ended.id AND repeat.signed_at >= $1::bigint
    )
  ORDER BY at, ended.id LIMIT $2::bigint`
}

const DELETE = [
  `INSERT INTO deleted (only_row, signed_at)
  SELECT 1, max(signed_at) FROM (
    SELECT signed_at FROM entries WHERE id = ANY ($1::bigint[])
    UNION ALL SELECT signed_at FROM entries WHERE kind = 1 AND repeat_of = ANY ($1::bigint[])
  ) AS signed
  ON CONFLICT (only_row) DO UPDATE SET signed_at = greatest(deleted.signed_at, excluded.signed_at)`,
  'DELETE FROM entries WHERE kind = 1 AND repeat_of = ANY ($1::bigint[])',
  'DELETE FROM history WHERE entry_id = ANY ($1::bigint[])',
  ...['contents', 'copies', 'ended', 'entries'].map(
    (table) => `DELETE FROM ${table} WHERE id = ANY ($1::bigint[])`,
  ),
]
