import type { Arrival } from '../inbox.js'
import { ARRIVING, COLUMNS, columnsOf, NOW, VALUES } from './arriving-rows.js'
import type { BigInteger } from './row.js'
import type { Transaction } from './transaction.js'

/**
 * Stores those of which neither the signature nor the key is known and that were signed later than what was deleted. Returns
 * their ids by position.
 */
export async function insertNew(
  tx: Transaction,
  arrivals: readonly Arrival[],
): Promise<ReadonlyMap<number, string>> {
  if (arrivals.length === 0) return new Map()
  const rows = await tx.all<InsertedRow>(INSERT_NEW, ...columnsOf(arrivals), tx.now)
  // Their signatures were stored before their keys were found to be known. These arrivals are recognised one by one.
  const incomplete = rows.filter(({ is_stored: isStored }) => !isStored)
  if (incomplete.length > 0)
    await tx.run(
      DELETE_SIGNATURES,
      incomplete.map(({ signed_at: signedAt }) => signedAt),
      incomplete.map(({ signature }) => signature),
    )
  const stored = rows.filter(({ is_stored: isStored }) => isStored)
  return new Map(stored.map(({ position, id }) => [Number(position) - 1, String(id)]))
}

interface InsertedRow {
  readonly position: BigInteger
  readonly id: BigInteger
  readonly signed_at: BigInteger
  readonly signature: Uint8Array
  readonly is_stored: boolean
}

// Keys and signatures are written in a fixed order, or two transactions could wait for each other. Of two in one batch with
// the same key or signature, the earlier one has the smaller id.
const INSERT_NEW = `
  WITH arriving AS MATERIALIZED (SELECT nextval('entries_id') AS id, * FROM ${ARRIVING}),
  signed AS (
    INSERT INTO signatures (signed_at, signature, entry_id, repeated)
    SELECT signed_at, signature, id, false FROM arriving
    WHERE signed_at > coalesce((SELECT signed_at FROM deleted), '-9223372036854775808'::bigint)
    ORDER BY signed_at, signature, id
    ON CONFLICT DO NOTHING RETURNING entry_id
  ),
  stored AS (
    INSERT INTO entries (id, state, known, due_at, due_set_at, ready, ${COLUMNS})
    SELECT id, 'stored', true, ${NOW}::bigint, ${NOW}::bigint, order_key IS NULL, ${VALUES}
    FROM arriving WHERE id IN (SELECT entry_id FROM signed) ORDER BY key_hash, id
    ON CONFLICT DO NOTHING RETURNING id
  )
  SELECT position, id, signed_at, signature, id IN (SELECT id FROM stored) AS is_stored
  FROM arriving WHERE id IN (SELECT entry_id FROM signed)`

const DELETE_SIGNATURES = `
  DELETE FROM signatures USING unnest($1::bigint[], $2::bytea[]) AS given (signed_at, signature)
  WHERE signatures.signed_at = given.signed_at AND signatures.signature = given.signature`
