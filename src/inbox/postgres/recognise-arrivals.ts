import { recognise, type Recognition } from '../../callback/recognition.js'
import type { Arrival } from '../inbox.js'
import { identityOf } from '../identity.js'
import { InboxConflict } from './inbox-error.js'
import type { BigInteger } from '../stored-entry.js'
import type { Transaction } from './transaction.js'

/** The entries that an arrival has its key or its signature in common with, and the decision that follows. */
export interface Recognised {
  readonly arrival: Arrival
  readonly recognition: Recognition
  /** The entry with its key; null if there is none. */
  readonly knownId: BigInteger | null
  /** The entry with its signature; null if there is none. */
  readonly signedId: BigInteger | null
}

/** Looks up all arrivals with one statement. It records nothing. */
export async function recogniseArrivals(
  tx: Transaction,
  arrivals: readonly Arrival[],
): Promise<Recognised[]> {
  const identities = arrivals.map(identityOf)
  const found = await tx.all<FoundRow>(
    FIND,
    identities.map(({ keyHash }) => keyHash),
    identities.map(({ bodyHash }) => bodyHash),
    arrivals.map(({ callback }) => Number(callback.signedAt)),
    identities.map(({ signature }) => signature),
  )
  return found.map((row, index) => {
    const { known_id: knownId, signed_id: signedId } = row
    const recognition = recognise({
      key: knownId === null ? 'unknown' : row.same_body ? 'same-body' : 'other-body',
      signature: signedId === null ? 'unknown' : signedId === knownId ? 'same-key' : 'other-key',
      isSuspect: arrivals[index]!.suspicion !== undefined,
      isForgotten: row.is_forgotten,
    })
    return { arrival: arrivals[index]!, recognition, knownId, signedId }
  })
}

/**
 * Counts all duplicates with one statement. If a known callback has a new signature, the signature is stored too. It can then not
 * be replayed with another key, or after the retention of the entry.
 */
export async function countDuplicates(tx: Transaction, duplicates: readonly Recognised[]): Promise<void> {
  if (duplicates.length === 0) return
  const [row] = await tx.all<{ counted: BigInteger; remembered: BigInteger }>(
    COUNT,
    duplicates.map(({ knownId }) => String(knownId)),
    duplicates.map(({ arrival }) => Number(arrival.callback.signedAt)),
    duplicates.map(({ arrival }) => identityOf(arrival).signature),
    duplicates.map(isSignedAnew),
    tx.now,
  )
  const entries = new Set(duplicates.map(({ knownId }) => String(knownId)))
  const isComplete =
    Number(row!.counted) === entries.size &&
    Number(row!.remembered) === duplicates.filter(isSignedAnew).length
  // Meanwhile another transaction has deleted an entry, or has stored one of the signatures.
  if (!isComplete) throw new InboxConflict('an entry has changed')
}

export function isSignedAnew({ signedId }: Recognised): boolean {
  return signedId === null
}

interface FoundRow {
  readonly known_id: BigInteger | null
  readonly same_body: boolean | null
  readonly signed_id: BigInteger | null
  readonly is_forgotten: boolean
}

// LATERAL with a limit makes PostgreSQL look up each arrival by the index, also if its statistics are out of date.
const FIND = `
  SELECT known.id AS known_id, known.body_hash = given.body_hash AS same_body,
    (SELECT entry_id FROM signatures WHERE signed_at = given.signed_at AND signature = given.signature) AS signed_id,
    EXISTS (SELECT 1 FROM deleted WHERE signed_at >= given.signed_at) AS is_forgotten
  FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[]) WITH ORDINALITY
      AS given (key_hash, body_hash, signed_at, signature, position)
    LEFT JOIN LATERAL (
      SELECT id, body_hash FROM entries WHERE key_hash = given.key_hash AND nullif(entries.known, false) LIMIT 1
    ) AS known ON true
  ORDER BY position`

// The entries are locked in the order of their ids, because otherwise two transactions could wait for each other.
const COUNT = `
  WITH given AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::boolean[]) AS given (id, signed_at, signature, is_new)
  ),
  locked AS MATERIALIZED (
    SELECT id FROM entries WHERE id IN (SELECT id FROM given) ORDER BY id FOR NO KEY UPDATE
  ),
  counted AS (
    UPDATE entries SET copies = entries.copies + repeats.number,
      finished_at = CASE
        WHEN repeats.is_new AND finished_at IS NOT NULL THEN greatest(finished_at, $5::bigint) ELSE finished_at
      END
    FROM (
      SELECT id, count(*)::integer AS number, bool_or(is_new) AS is_new FROM given JOIN locked USING (id) GROUP BY id
    ) AS repeats
    WHERE entries.id = repeats.id RETURNING entries.id
  ),
  remembered AS (
    INSERT INTO signatures (signed_at, signature, entry_id, repeated)
    SELECT signed_at, signature, id, true FROM given WHERE is_new ORDER BY signed_at, signature
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*) FROM counted) AS counted, (SELECT count(*) FROM remembered) AS remembered`
