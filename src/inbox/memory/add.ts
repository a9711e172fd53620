import type { AddResult, Arrival, BeginOnArrival, QuarantineCause } from '../engine.js'
import { quarantineReason } from '../quarantine-reason.js'
import { begin as beginEntries, claimEntry } from './claims.js'
import type { MemoryEntries } from './entries.js'

/** Stores an arrival unless it is known. */
export function add(
  entries: MemoryEntries,
  arrival: Arrival,
  begin: BeginOnArrival | undefined,
  now: number,
): AddResult {
  const { recognition, known, signed } = entries.known.recognise(arrival)
  switch (recognition) {
    case 'duplicate':
      if (!signed) {
        entries.known.addSignature(known!, arrival)
        if (known!.finishedAt !== undefined) known!.finishedAt = Math.max(known!.finishedAt, now)
      }
      known!.copies++
      return { result: 'duplicate', id: known!.id }
    case 'new': {
      const entry = entries.insert(arrival, 'stored')
      entries.known.add(entry)
      entries.unfinished.makeDue(entry, now)
      if (!begin || arrival.orderKey !== undefined) return { result: 'stored', id: entry.id }
      const { id, token } = claimEntry(entry, begin.leaseMs, now)
      beginEntries(entries, [{ id, token }], begin.leaseMs, now)
      return { result: 'stored', id, claim: { id, token } }
    }
    case 'suspicion':
    case 'conflict':
    case 'replay':
    case 'forgotten': {
      const reason = quarantineReason(recognition, arrival, { keyOf: known?.id, signatureOf: signed?.id })
      return quarantine(entries, arrival, recognition, reason)
    }
  }
}

function quarantine(
  entries: MemoryEntries,
  arrival: Arrival,
  why: QuarantineCause,
  reason: string,
): AddResult {
  // One entry for a signature, whatever else differs: an attacker with one captured delivery cannot fill the memory.
  const copy = entries.known.quarantined(arrival.signature)
  if (copy) {
    copy.copies++
    return { result: 'duplicate', id: copy.id }
  }
  const entry = entries.insert(arrival, 'quarantined')
  entry.reason = reason
  entries.known.addQuarantined(entry)
  return { result: 'quarantined', id: entry.id, why }
}
