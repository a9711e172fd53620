import { InboxConflict } from './inbox-error.js'
import { withPastAttempt } from './past-attempts.js'
import type { Transaction } from './transaction.js'

/** A copy of an entry that has arrived. */
export interface Copy {
  readonly entryId: string
  /** What is stored of the signature if the copy was signed anew. */
  readonly signature?: { readonly signedAt: number; readonly value: string } | undefined
}

/**
 * Counts copies with one statement. It waits for no transaction of a handler or of an operator: an acceptance that waited for that
 * would be answered 503, although the callback is known.
 *
 * If a known callback has a new signature, the signature is stored too. It can then not be replayed with another key, or after the
 * retention of the entry.
 * @throws InboxConflict if another transaction has deleted an entry meanwhile, or has stored one of the signatures
 */
export async function countCopies(tx: Transaction, copies: readonly Copy[]): Promise<void> {
  if (copies.length === 0) return
  const signedAnew = copies.filter(({ signature }) => signature !== undefined)
  const [row] = await tx.all<CountedRow>(
    COUNT,
    copies.map(({ entryId }) => entryId),
    tx.now,
    signedAnew.map(({ entryId }) => entryId),
    signedAnew.map(({ signature }) => signature!.signedAt),
    signedAnew.map(({ signature }) => signature!.value),
  )
  const entries = new Set(copies.map(({ entryId }) => entryId))
  if (Number(row!.counted) !== entries.size || Number(row!.remembered) !== signedAnew.length)
    throw new InboxConflict('an entry has changed')
}

interface CountedRow {
  readonly counted: string | number
  readonly remembered: string | number
}

// KEY SHARE keeps the entries from being deleted. It waits for their deletion, and not for other changes. The rows are locked in
// the order of their ids, because otherwise two transactions could wait for each other. An entry whose end is locked is being
// deleted, or decided on, which sets its end anew. The attempt that succeeded keeps its own end.
const COUNT = `
  WITH existing AS MATERIALIZED (
    SELECT id FROM entries WHERE id = ANY ($1::bigint[]) ORDER BY id FOR KEY SHARE
  ),
  counted AS (
    INSERT INTO copies (id, number)
    SELECT id, count(*) FROM existing JOIN unnest($1::bigint[]) AS given (id) USING (id) GROUP BY id ORDER BY id
    ON CONFLICT (id) DO UPDATE SET number = copies.number + excluded.number RETURNING 1
  ),
  free AS MATERIALIZED (
    SELECT id FROM ended WHERE id = ANY ($3::bigint[]) AND state <> 'quarantined' ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
  ),
  repeated AS (
    UPDATE ended SET at = greatest(at, $2::bigint), begun_at = NULL,
      past_attempts = CASE WHEN begun_at IS NULL THEN past_attempts ELSE ${withPastAttempt('state', 'at')} END
    FROM free WHERE ended.id = free.id
  ),
  remembered AS (
    INSERT INTO entries (id, kind, signed_at, signature, repeat_of)
    SELECT -nextval('entries_id'), 1, signed_at, signature, id
    FROM unnest($3::bigint[], $4::bigint[], $5::uuid[]) AS given (id, signed_at, signature) ORDER BY signed_at, signature
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*) FROM counted) AS counted, (SELECT count(*) FROM remembered) AS remembered`
