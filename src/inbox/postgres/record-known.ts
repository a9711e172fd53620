import type { AddResult, Arrival, QuarantineCause } from '../engine.js'
import { QUARANTINE_REASON } from '../quarantine-reason.js'
import { identityOf } from '../identity.js'
import { columnsOf, CONTENT_OF_ONE, ENTRY_OF_ONE, parameterAfterColumns } from './arriving-rows.js'
import { countCopies, type Copies } from './copies.js'
import { InboxConflict } from './inbox-error.js'
import { insertNew } from './insert-new.js'
import { isSignedAnew, recogniseArrivals, type Recognised } from './recognise-arrivals.js'
import type { BigInteger } from '../stored-entry.js'
import { storedText } from './sql-text.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/**
 * Decides on arrivals that are suspect, or whose key or signature is known, and records them. Returns the results in the order of
 * the arrivals, and the copies that could not be counted yet. All duplicates together take two statements, because a sender that retries sends many at once. Each of the other
 * arrivals is recorded alone, because its result depends on the arrivals before it.
 */
export async function recordKnown(
  tx: Transaction,
  arrivals: readonly Arrival[],
  settings: TransactionSettings,
): Promise<{ results: AddResult[]; uncounted: Copies[] }> {
  if (arrivals.length === 0) return { results: [], uncounted: [] }
  const duplicates = independentDuplicates(await recogniseArrivals(tx, arrivals))
  const uncounted = [...(await countCopies(tx, [...duplicates.values()].map(copyOf)))]
  const results: AddResult[] = []
  for (const [index, arrival] of arrivals.entries()) {
    const duplicate = duplicates.get(index)
    results.push(
      duplicate
        ? { result: 'duplicate', id: String(duplicate.knownId) }
        : await recordOne(tx, arrival, settings, uncounted),
    )
  }
  return { results, uncounted }
}

function copyOf(duplicate: Recognised): Copies {
  const { arrival, knownId } = duplicate
  const isNew = isSignedAnew(duplicate)
  const signature = { signedAt: Number(arrival.callback.signedAt), value: identityOf(arrival).signature }
  return {
    entryId: String(knownId),
    number: 1,
    isSignedAnew: isNew,
    signature: isNew ? signature : undefined,
  }
}

/**
 * The arrivals that are duplicates for any result of the other arrivals, by index. If several have the same new signature, only
 * the first one is such a duplicate.
 */
function independentDuplicates(recognised: readonly Recognised[]): Map<number, Recognised> {
  const duplicates = new Map<number, Recognised>()
  const newSignatures = new Set<string>()
  for (const [index, each] of recognised.entries()) {
    const isFirst = !newSignatures.has(each.arrival.signature)
    if (isSignedAnew(each)) newSignatures.add(each.arrival.signature)
    if (each.recognition === 'duplicate' && (isFirst || !isSignedAnew(each))) duplicates.set(index, each)
  }
  return duplicates
}

/** Decides on one arrival that is suspect, or whose key or signature is known, and records it. */
async function recordOne(
  tx: Transaction,
  arrival: Arrival,
  settings: TransactionSettings,
  uncounted: Copies[],
): Promise<AddResult> {
  const [found] = await recogniseArrivals(tx, [arrival])
  const { recognition, knownId, signedId, suspectId } = found!
  const isKept = recognition !== 'duplicate' && recognition !== 'new' && suspectId !== null
  if (isKept) {
    const copy = { entryId: String(suspectId), number: 1, isSignedAnew: false }
    uncounted.push(...(await countCopies(tx, [copy])))
    return { result: 'duplicate', id: String(suspectId) }
  }
  switch (recognition) {
    case 'duplicate':
      uncounted.push(...(await countCopies(tx, [copyOf(found!)])))
      return { result: 'duplicate', id: String(knownId) }
    case 'suspicion':
      return quarantine(tx, arrival, recognition, arrival.suspicion!)
    case 'conflict':
      return quarantine(tx, arrival, recognition, QUARANTINE_REASON.conflict(String(knownId)))
    case 'replay':
      return quarantine(tx, arrival, recognition, QUARANTINE_REASON.replay(String(signedId)))
    case 'forgotten':
      return quarantine(tx, arrival, recognition, QUARANTINE_REASON.forgotten)
    case 'new': {
      // The entry with its key has been deleted since, or that entry is of the same batch and was put in quarantine.
      const id = (await insertNew(tx.all, [arrival], settings))?.[0]
      if (id === undefined) throw new InboxConflict(NOT_STORED)
      return { result: 'stored', id }
    }
  }
}

const NOT_STORED =
  'a new callback was not stored. If this lasts, the ids that the sequence entries_id gives are in use: logical replication, for ' +
  'example, does not copy the state of a sequence. Set it to the largest id of entries with setval()'

/** Stores one entry for each signature and counts copies. An attacker with one captured delivery must not fill the disk. */
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

const [NOW, REASON] = [parameterAfterColumns(1), parameterAfterColumns(2)]
// xmax is 0 in a row that this statement inserted, and another number in a row that it updated.
const QUARANTINE = `
  WITH kept AS (
    INSERT INTO entries (state, known, due_set_at, ready, reason, ${ENTRY_OF_ONE.columns})
    VALUES ('quarantined', false, ${NOW}::bigint, false, ${REASON}::text, ${ENTRY_OF_ONE.values})
    ON CONFLICT (signed_at, signature) WHERE NOT known DO UPDATE SET copies = entries.copies + 1
    RETURNING id, xmax = 0 AS is_new
  ),
  content AS (
    INSERT INTO contents (id, ${CONTENT_OF_ONE.columns}) SELECT id, ${CONTENT_OF_ONE.values} FROM kept WHERE is_new
  )
  SELECT id, is_new FROM kept`
