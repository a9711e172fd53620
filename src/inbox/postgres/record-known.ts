import type { AddResult, Arrival } from '../engine.js'
import { quarantineReason } from '../quarantine-reason.js'
import { hexOf, identityOf } from '../identity.js'
import { countCopies, type Copy } from './copies.js'
import { InboxConflict } from './inbox-error.js'
import { insertNew, type StoringSettings } from './insert-new.js'
import { isSignedAnew, recogniseArrivals, type Recognised } from './recognise-arrivals.js'
import type { Transaction } from './transaction.js'

/**
 * Decides on arrivals that are suspect, or whose key or signature is known, and records them. Returns the results in the order of
 * the arrivals. All duplicates together take two statements, because a sender that retries sends many at once. Each of the other
 * arrivals is recorded alone, because its result depends on the arrivals before it.
 */
export async function recordKnown(
  tx: Transaction,
  arrivals: readonly Arrival[],
  settings: StoringSettings,
): Promise<AddResult[]> {
  if (arrivals.length === 0) return []
  const duplicates = independentDuplicates(await recogniseArrivals(tx, arrivals))
  await countCopies(tx, [...duplicates.values()].map(copyOf))
  const results: AddResult[] = []
  for (const [index, arrival] of arrivals.entries()) {
    const duplicate = duplicates.get(index)
    results.push(
      duplicate
        ? { result: 'duplicate', id: String(duplicate.knownId) }
        : await recordOne(tx, arrival, settings),
    )
  }
  return results
}

function copyOf(duplicate: Recognised): Copy {
  const { arrival, knownId } = duplicate
  const signature = {
    signedAt: Number(arrival.callback.signedAt),
    value: hexOf(identityOf(arrival).signature),
  }
  return { entryId: String(knownId), ...(isSignedAnew(duplicate) && { signature }) }
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
async function recordOne(tx: Transaction, arrival: Arrival, settings: StoringSettings): Promise<AddResult> {
  const [found] = await recogniseArrivals(tx, [arrival])
  const { recognition, knownId, signedId, suspectId } = found!
  if (recognition === 'duplicate') {
    await countCopies(tx, [copyOf(found!)])
    return { result: 'duplicate', id: String(knownId) }
  }
  if (recognition === 'new') {
    // The entry with its key has been deleted since, or that entry is of the same batch and was put in quarantine.
    const stored = (await insertNew(tx.all, [arrival], settings))?.[0]
    if (!stored) throw new InboxConflict(NOT_STORED)
    return stored
  }
  if (suspectId !== null) {
    await countCopies(tx, [{ entryId: String(suspectId) }])
    return { result: 'duplicate', id: String(suspectId) }
  }
  // One entry for each signature. An attacker with one captured delivery must not fill the disk.
  const reason = quarantineReason(recognition, arrival, { keyOf: knownId, signatureOf: signedId })
  const quarantined = (await insertNew(tx.all, [arrival], settings, reason))?.[0]
  if (!quarantined) throw new InboxConflict('a copy was stored')
  return { result: 'quarantined', id: quarantined.id, why: recognition }
}

const NOT_STORED =
  'a new callback was not stored. If this lasts, the ids that the sequence entries_id gives are in use: logical replication, for ' +
  'example, does not copy the state of a sequence. Set it to the largest id of entries with setval()'
