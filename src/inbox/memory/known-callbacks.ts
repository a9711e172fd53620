import { recognise, type Recognition } from '../../callback/recognition.js'
import type { Arrival } from '../engine.js'
import { signaturesOf, type MemoryEntry } from './memory-entry.js'

interface Recognised {
  readonly recognition: Recognition
  /** The entry with its key. */
  readonly known: MemoryEntry | undefined
  /** The entry with its signature. */
  readonly signed: MemoryEntry | undefined
}

/** The keys and signatures by which repeats are recognised. */
export class KnownCallbacks {
  // Without entries in quarantine: an attacker may have written their keys.
  readonly #byKey = new Map<string, MemoryEntry>()
  readonly #bySignature = new Map<string, MemoryEntry>()
  readonly #quarantinedBySignature = new Map<string, MemoryEntry>()
  /** The latest signed time of what was deleted. */
  #deletedUpTo = -Infinity

  recognise({ callback, key, bodyHash, signature, suspicion }: Arrival): Recognised {
    const known = this.#byKey.get(key)
    const signed = this.#bySignature.get(signature)
    const recognition = recognise({
      key: !known ? 'unknown' : known.bodyHash === bodyHash ? 'same-body' : 'other-body',
      signature: !signed ? 'unknown' : signed === known ? 'same-key' : 'other-key',
      isSuspect: suspicion !== undefined,
      isForgotten: Number(callback.signedAt) <= this.#deletedUpTo,
    })
    return { recognition, known, signed }
  }

  add(entry: MemoryEntry): void {
    this.#byKey.set(entry.key, entry)
    this.#bySignature.set(entry.signature, entry)
  }

  /** Adds the signature of a repeat. Otherwise the repeat could be replayed, under another key or once the entry is old. */
  addSignature(entry: MemoryEntry, { signature, callback }: Arrival): void {
    entry.moreSignatures.push(signature)
    entry.latestSignedAt = Math.max(entry.latestSignedAt, Number(callback.signedAt))
    this.#bySignature.set(signature, entry)
  }

  quarantined(signature: string): MemoryEntry | undefined {
    return this.#quarantinedBySignature.get(signature)
  }

  addQuarantined(entry: MemoryEntry): void {
    this.#quarantinedBySignature.set(entry.signature, entry)
  }

  release(entry: MemoryEntry): void {
    // If its key or signature belongs to another entry, repeats are still recognised by that one.
    if (this.#byKey.has(entry.key) || this.#bySignature.has(entry.signature)) return
    this.#quarantinedBySignature.delete(entry.signature)
    this.add(entry)
  }

  /** Undoes `release` for an entry that it made known. */
  takeBack(entry: MemoryEntry): void {
    deleteOwn(this.#byKey, entry.key, entry)
    deleteOwn(this.#bySignature, entry.signature, entry)
    this.addQuarantined(entry)
  }

  isKnown(entry: MemoryEntry): boolean {
    return this.#byKey.get(entry.key) === entry
  }

  delete(entry: MemoryEntry): void {
    this.#deletedUpTo = Math.max(this.#deletedUpTo, entry.latestSignedAt)
    deleteOwn(this.#byKey, entry.key, entry)
    deleteOwn(this.#quarantinedBySignature, entry.signature, entry)
    for (const signature of signaturesOf(entry)) deleteOwn(this.#bySignature, signature, entry)
  }
}

function deleteOwn(map: Map<string, MemoryEntry>, key: string, entry: MemoryEntry): void {
  if (map.get(key) === entry) map.delete(key)
}
