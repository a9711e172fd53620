import { recognise, type Recognition } from '../../callback/recognition.js'
import type { Arrival } from '../engine.js'
import { hexOf, identityOf } from '../identity.js'
import type { BigInteger } from '../stored-entry.js'
import type { Transaction } from './transaction.js'

/** The entries that an arrival has its key or its signature in common with, and the decision that follows. */
export interface Recognised {
  readonly arrival: Arrival
  readonly recognition: Recognition
  /** The entry with its key; null if there is none. */
  readonly knownId: BigInteger | null
  /** The known entry with its signature; null if there is none. */
  readonly signedId: BigInteger | null
  /** The entry with its signature that is not known, such as one in quarantine; null if there is none. */
  readonly suspectId: BigInteger | null
}

/** Looks up all arrivals with one statement. It records nothing. */
export async function recogniseArrivals(
  tx: Transaction,
  arrivals: readonly Arrival[],
): Promise<Recognised[]> {
  const identities = arrivals.map(identityOf)
  const found = await tx.all<FoundRow>(
    FIND,
    identities.map(({ keyHash }) => hexOf(keyHash)),
    identities.map(({ bodyHash }) => hexOf(bodyHash)),
    arrivals.map(({ callback }) => Number(callback.signedAt)),
    identities.map(({ signature }) => hexOf(signature)),
  )
  return found.map((row, index) => {
    const { known_id: knownId, signed_id: signedId, suspect_id: suspectId } = row
    const recognition = recognise({
      key: knownId === null ? 'unknown' : row.same_body ? 'same-body' : 'other-body',
      signature: signedId === null ? 'unknown' : signedId === knownId ? 'same-key' : 'other-key',
      isSuspect: arrivals[index]!.suspicion !== undefined,
      isForgotten: row.is_forgotten,
    })
    return { arrival: arrivals[index]!, recognition, knownId, signedId, suspectId }
  })
}

export function isSignedAnew({ signedId }: Recognised): boolean {
  return signedId === null
}

interface FoundRow {
  readonly known_id: BigInteger | null
  readonly same_body: boolean | null
  readonly signed_id: BigInteger | null
  readonly suspect_id: BigInteger | null
  readonly is_forgotten: boolean
}

const SIGNED = 'WHERE signed_at = given.signed_at AND signature = given.signature'
// LATERAL with a limit makes PostgreSQL look up each arrival by the index, also if its statistics are out of date.
const FIND = `
  SELECT known.id AS known_id, known.body_hash = given.body_hash AS same_body,
    (SELECT coalesce(repeat_of, id) FROM entries ${SIGNED} AND kind <= 1) AS signed_id,
    (SELECT id FROM entries ${SIGNED} AND kind = 2) AS suspect_id,
    EXISTS (SELECT 1 FROM deleted WHERE signed_at >= given.signed_at) AS is_forgotten
  FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[]) WITH ORDINALITY
      AS given (key_hash, body_hash, signed_at, signature, position)
    LEFT JOIN LATERAL (
      SELECT id, body_hash FROM entries WHERE key_hash = given.key_hash AND kind = 0 LIMIT 1
    ) AS known ON true
  ORDER BY position`
