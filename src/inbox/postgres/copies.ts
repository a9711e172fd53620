import { InboxConflict } from './inbox-error.js'
import type { Transaction } from './transaction.js'

/** Copies of an entry that have arrived. */
export interface Copies {
  readonly entryId: string
  readonly number: number
  /** What is stored of the signature if the copy was signed anew. */
  readonly signature?: { readonly signedAt: number; readonly value: Uint8Array } | undefined
  readonly isSignedAnew: boolean
}

/**
 * Counts copies with one statement, and returns those whose entry is locked. The transaction of a handler or of an operator holds the
 * lock, and may take long. An acceptance that waited for it would be answered 503, although the callback is known.
 *
 * If a known callback has a new signature, the signature is stored too, also where the entry is locked. It can then not be replayed
 * with another key, or after the retention of the entry.
 * @throws InboxConflict if another transaction has deleted an entry meanwhile, or has stored one of the signatures
 */
export async function countCopies(tx: Transaction, copies: readonly Copies[]): Promise<readonly Copies[]> {
  if (copies.length === 0) return []
  const { found, counted, remembered } = await count(tx, copies)
  const entries = new Set(copies.map(({ entryId }) => entryId))
  const isComplete =
    found === entries.size && remembered === copies.filter(({ signature }) => signature !== undefined).length
  if (!isComplete) throw new InboxConflict('an entry has changed')
  return copies
    .filter(({ entryId }) => !counted.has(entryId))
    .map(({ entryId, number, isSignedAnew }) => ({ entryId, number, isSignedAnew }))
}

/** The same for copies that could not be counted before. Those of entries that were deleted since are left out. */
export async function countLateCopies(
  tx: Transaction,
  copies: readonly Copies[],
): Promise<readonly Copies[]> {
  const { existing, counted } = await count(tx, copies)
  return copies.filter(({ entryId }) => existing.has(entryId) && !counted.has(entryId))
}

async function count(tx: Transaction, copies: readonly Copies[]) {
  const [row] = await tx.all<CountedRow>(
    COUNT,
    copies.map(({ entryId }) => entryId),
    copies.map(({ number }) => number),
    copies.map(({ isSignedAnew }) => isSignedAnew),
    // Without NULL, which a session with array_nulls = off reads as a word.
    copies.map(({ signature }) => signature?.signedAt ?? 0),
    copies.map(({ signature }) => signature?.value ?? Buffer.alloc(0)),
    tx.now,
  )
  const existing = idsIn(row!.existing)
  return { existing, found: existing.size, counted: idsIn(row!.counted), remembered: Number(row!.remembered) }
}

interface CountedRow {
  readonly existing: string | null
  readonly counted: string | null
  readonly remembered: string | number
}

const idsIn = (text: string | null) => new Set(text?.split(' '))

// KEY SHARE keeps the entries from being deleted. It waits for their deletion, and not for other changes. The entries are locked in
// the order of their ids, because otherwise two transactions could wait for each other.
const COUNT = `
  WITH given AS (
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::bigint[], $5::bytea[])
      AS given (id, number, is_signed_anew, signed_at, signature)
  ),
  existing AS MATERIALIZED (
    SELECT id FROM entries WHERE id IN (SELECT id FROM given) ORDER BY id FOR KEY SHARE
  ),
  free AS MATERIALIZED (
    SELECT id FROM entries WHERE id IN (SELECT id FROM existing) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
  ),
  counted AS (
    UPDATE entries SET copies = entries.copies + repeats.number,
      finished_at = CASE
        WHEN repeats.is_signed_anew AND finished_at IS NOT NULL THEN greatest(finished_at, $6::bigint) ELSE finished_at
      END
    FROM (
      SELECT id, sum(number)::integer AS number, bool_or(is_signed_anew) AS is_signed_anew
      FROM given JOIN free USING (id) GROUP BY id
    ) AS repeats
    WHERE entries.id = repeats.id RETURNING entries.id
  ),
  remembered AS (
    INSERT INTO signatures (signed_at, signature, entry_id, repeated)
    SELECT signed_at, signature, id, true FROM given WHERE signature <> '' ORDER BY signed_at, signature
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT string_agg(id::text, ' ') FROM existing) AS existing,
    (SELECT string_agg(id::text, ' ') FROM counted) AS counted, (SELECT count(*) FROM remembered) AS remembered`
