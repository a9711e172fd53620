import type { Arrival } from '../inbox.js'
import { identityOf } from '../identity.js'
import { ARRIVING, COLUMNS, columnsOf, NOW, VALUES } from './arriving-rows.js'
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
  const [row] = await tx.all<{ inserted: string | null }>(INSERT_NEW, ...columnsOf(arrivals), tx.now)
  const inserted = (row!.inserted ?? '').split(' ').filter(Boolean).map(insertedOf)
  // Their signatures were stored before their keys were found to be known. These arrivals are recognised afterwards.
  const incomplete = inserted.filter(({ isStored }) => !isStored)
  if (incomplete.length > 0) {
    const signed = incomplete.map(({ position }) => arrivals[position]!)
    await tx.run(
      DELETE_SIGNATURES,
      signed.map(({ callback }) => Number(callback.signedAt)),
      signed.map((arrival) => identityOf(arrival).signature),
    )
  }
  return new Map(inserted.filter(({ isStored }) => isStored).map(({ position, id }) => [position, id]))
}

function insertedOf(text: string): { position: number; id: string; isStored: boolean } {
  const [position, id, isStored] = text.split(',')
  return { position: Number(position) - 1, id: id!, isStored: isStored === 'true' }
}

// Keys and signatures are written in a fixed order, or two transactions could wait for each other. Of two in one batch with
// the same key or signature, the earlier one has the smaller id. The result is one text, because the driver makes objects of each
// row.
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
  SELECT string_agg(concat_ws(',', position, id, (id IN (SELECT id FROM stored))::text), ' ') AS inserted
  FROM arriving WHERE id IN (SELECT entry_id FROM signed)`

const DELETE_SIGNATURES = `
  DELETE FROM signatures USING unnest($1::bigint[], $2::bytea[]) AS given (signed_at, signature)
  WHERE signatures.signed_at = given.signed_at AND signatures.signature = given.signature`
