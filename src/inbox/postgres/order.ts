import { hexOf, identityOf } from '../identity.js'
import type { Arrival } from '../engine.js'
import { demotion, promotion } from './order-sql.js'
import { advisoryLock } from './schema.js'
import { textKey } from './text-key.js'
import type { Transaction } from './transaction.js'

/**
 * A transaction that adds an entry with an order key, or decides which entry of the key is next, holds the lock of the key until
 * its end. Then ids are in the order of commits, and of two transactions the later one sees what the earlier one did. The
 * locks are taken in a fixed order, or two transactions could wait for each other.
 */
export async function lockOrderKeys(tx: Transaction, keys: readonly string[], schema: string): Promise<void> {
  if (keys.length > 0) await tx.run(LOCK, keys, orderLock(schema))
}

/**
 * The same for the keys of arrivals. Returns the keys. Those of arrivals that are known are left out: a handler's transaction holds
 * the lock until its commit has ended, and a repeat must not wait for that.
 */
export async function lockOrdersOfNew(
  tx: Transaction,
  arrivals: readonly Arrival[],
  schema: string,
): Promise<ReadonlySet<string>> {
  const ordered = arrivals.filter(({ orderKey }) => orderKey !== undefined)
  if (ordered.length === 0) return new Set()
  const identities = ordered.map(identityOf)
  const rows = await tx.all<{ key: string }>(
    LOCK_NEW,
    ordered.map(({ orderKey }) => textKey(orderKey!)),
    identities.map(({ keyHash }) => hexOf(keyHash)),
    ordered.map(({ callback }) => Number(callback.signedAt)),
    identities.map(({ signature }) => hexOf(signature)),
    orderLock(schema),
  )
  return new Set(rows.map(({ key }) => key))
}

/** The number that distinguishes the locks of order keys of this schema from all other locks. */
export function orderLock(schema: string): string {
  return advisoryLock(schema, 'order').toString()
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

// As texts, because a driver may return each bigint as a number. LATERAL with a limit: see `recogniseArrivals`.
const LOCK_NEW = `
  SELECT key::text, pg_advisory_xact_lock(key # $5::bigint)
  FROM (
    SELECT DISTINCT given.key
    FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::uuid[]) AS given (key, key_hash, signed_at, signature)
      LEFT JOIN LATERAL (
        SELECT id FROM entries WHERE key_hash = given.key_hash AND kind = 0 LIMIT 1
      ) AS known ON true
    WHERE known.id IS NULL
      AND (SELECT id FROM entries WHERE signed_at = given.signed_at AND signature = given.signature AND kind <= 1) IS NULL
    ORDER BY key
  ) AS keys`

const KEYS = '$1::bigint[]'
const DEMOTE = demotion(KEYS)
const PROMOTE = promotion(KEYS)
