import { createHash } from 'node:crypto'
import { advisoryLock } from './schema.js'
import type { Transaction } from './transaction.js'

/** What is stored of the text that `orderBy` returned. If two texts had the same one, their entries would share an order. */
export function orderKeyOf(text: string): string {
  return createHash('sha256').update(text).digest().readBigInt64BE().toString()
}

/**
 * Whoever adds an entry with an order key, or decides which of them is next, holds the lock of that key until the end of its
 * transaction. Then ids are in the order of commits, and of two transactions the later one sees what the earlier one did. The
 * locks are taken in a fixed order, or two transactions could wait for each other.
 */
export async function lockOrderKeys(tx: Transaction, keys: readonly string[], schema: string): Promise<void> {
  if (keys.length > 0) await tx.run(LOCK, keys, advisoryLock(schema, 'order').toString())
}

/**
 * Makes the oldest unfinished entry of each key ready, unless another one of the key is running. Requires the locks. Resolves
 * to the number of entries that became ready.
 */
export async function promoteNext(tx: Transaction, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0
  await tx.run(DEMOTE, keys)
  return tx.run(PROMOTE, keys)
}

const LOCK = `
  SELECT pg_advisory_xact_lock(key # $2::bigint)
  FROM (SELECT DISTINCT key FROM unnest($1::bigint[]) AS given (key) ORDER BY key) AS keys`

const UNFINISHED = "state IN ('stored', 'running', 'retrying')"

// A claim may be about to take the entry: then this waits for the claim, and sees that the entry is running.
const DEMOTE = `
  UPDATE entries AS holder SET ready = false
  WHERE holder.order_key = ANY ($1::bigint[]) AND holder.order_key IS NOT NULL AND holder.ready AND holder.state <> 'running'
    AND EXISTS (
      SELECT 1 FROM entries AS older
      WHERE older.order_key = holder.order_key AND older.order_key IS NOT NULL AND older.${UNFINISHED} AND older.id < holder.id
    )`

const PROMOTE = `
  UPDATE entries SET ready = true WHERE id IN (
    SELECT (
      SELECT id FROM entries
      WHERE order_key = given.key AND order_key IS NOT NULL AND ${UNFINISHED} ORDER BY id LIMIT 1
    )
    FROM unnest($1::bigint[]) AS given (key)
    WHERE NOT EXISTS (
      SELECT 1 FROM entries AS holder
      WHERE holder.order_key = given.key AND holder.order_key IS NOT NULL AND holder.ready
    )
  )`
