import { recognise } from '../../callback/recognition.js'
import type { AddResult, Arrival, QuarantineCause } from '../inbox.js'
import { identityOf } from '../identity.js'
import { QUARANTINE_REASON } from '../quarantine-reason.js'
import { ARRIVING, COLUMNS, columnsOf, NOW, VALUES } from './arriving-rows.js'
import { InboxConflict } from './inbox-error.js'
import { insertNew } from './insert-new.js'
import type { BigInteger } from './row.js'
import { storedText } from './sql-text.js'
import type { Transaction } from './transaction.js'

/** Decides on one arrival that is suspect, or whose key or signature was found to be known, and records it. */
export async function recogniseArrival(tx: Transaction, arrival: Arrival): Promise<AddResult> {
  const { callback, suspicion } = arrival
  const { keyHash, bodyHash, signature } = identityOf(arrival)
  const signedAt = Number(callback.signedAt)
  const [found] = await tx.all<FoundRow>(FIND, keyHash, bodyHash, signedAt, signature)
  const { known_id: knownId, same_body: sameBody, signed_id: signedId, is_forgotten: isForgotten } = found!
  const recognition = recognise({
    key: knownId === null ? 'unknown' : sameBody ? 'same-body' : 'other-body',
    signature: signedId === null ? 'unknown' : signedId === knownId ? 'same-key' : 'other-key',
    isSuspect: suspicion !== undefined,
    isForgotten,
  })
  switch (recognition) {
    case 'duplicate': {
      const isNew = signedId === null
      const counted = await tx.run(
        isNew ? REMEMBER : COUNT,
        knownId,
        ...(isNew ? [tx.now, signedAt, signature] : []),
      )
      // It was deleted meanwhile, or somebody else knows the signature by now.
      if (counted !== 1) throw new InboxConflict('the entry has changed')
      return { result: 'duplicate', id: String(knownId) }
    }
    case 'suspicion':
      return quarantine(tx, arrival, recognition, suspicion!)
    case 'conflict':
      return quarantine(tx, arrival, recognition, QUARANTINE_REASON.conflict(String(knownId)))
    case 'replay':
      return quarantine(tx, arrival, recognition, QUARANTINE_REASON.replay(String(signedId)))
    case 'forgotten':
      return quarantine(tx, arrival, recognition, QUARANTINE_REASON.forgotten)
    case 'new': {
      // What made it known has been deleted, or was an arrival of the same batch that is in quarantine now.
      const id = (await insertNew(tx, [arrival])).get(0)
      if (id === undefined) throw new InboxConflict('a new callback was not stored')
      return { result: 'stored', id }
    }
  }
}

/** One entry for a signature, so that whoever holds one captured delivery cannot fill the disk. Further copies are counted. */
async function quarantine(
  tx: Transaction,
  arrival: Arrival,
  why: QuarantineCause,
  reason: string,
): Promise<AddResult> {
  const values = [...columnsOf([arrival]), tx.now, storedText(reason)]
  const [row] = await tx.all<{ id: BigInteger; is_new: boolean }>(QUARANTINE, ...values)
  const id = String(row!.id)
  return row!.is_new ? { result: 'quarantined', id, why } : { result: 'duplicate', id }
}

interface FoundRow {
  readonly known_id: BigInteger | null
  readonly same_body: boolean | null
  readonly signed_id: BigInteger | null
  readonly is_forgotten: boolean
}

const FIND = `
  SELECT known.id AS known_id, known.body_hash = $2::bytea AS same_body,
    (SELECT entry_id FROM signatures WHERE signed_at = $3::bigint AND signature = $4::bytea) AS signed_id,
    EXISTS (SELECT 1 FROM deleted WHERE signed_at >= $3::bigint) AS is_forgotten
  FROM (SELECT 1) AS one LEFT JOIN entries AS known ON known.key_hash = $1::bytea AND nullif(known.known, false)`

const COUNT = 'UPDATE entries SET copies = copies + 1 WHERE id = $1::bigint'

// The new signature is stored so that it cannot be replayed, neither with another key nor after the entry's retention.
const REMEMBER = `
  WITH counted AS (
    UPDATE entries SET copies = copies + 1,
      finished_at = CASE WHEN finished_at IS NOT NULL THEN greatest(finished_at, $2::bigint) END
    WHERE id = $1::bigint RETURNING id
  )
  INSERT INTO signatures (signed_at, signature, entry_id, repeated)
  SELECT $3::bigint, $4::bytea, id, true FROM counted ON CONFLICT DO NOTHING`

// xmax is 0 in a row that this statement inserted, and another number in a row that it updated.
const QUARANTINE = `
  INSERT INTO entries (state, known, due_set_at, ready, reason, ${COLUMNS})
  SELECT 'quarantined', false, ${NOW}::bigint, false, $${Number(NOW.slice(1)) + 1}::text, ${VALUES}
  FROM ${ARRIVING}
  ON CONFLICT (signed_at, signature) WHERE NOT known DO UPDATE SET copies = entries.copies + 1
  RETURNING id, xmax = 0 AS is_new`
