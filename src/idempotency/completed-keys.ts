import { Buffer } from 'node:buffer'
import type { KnownOfArrival } from '../callback/recognition.js'

/** What identifies a callback; each field is 32 bytes in standard Base64 (44 characters). */
export interface HashedCallback {
  /** SHA-256 of the idempotency key. */
  readonly key: string
  readonly bodyHash: string
  readonly signature: string
}

export type Completed = Pick<KnownOfArrival, 'key' | 'signature'>

/**
 * Completed callbacks in about 65 bytes each. A Map of objects uses about ten times as much. The garbage collector does
 * not traverse typed arrays.
 *
 * 12 bytes are kept of each of the three hashes. The probability that two of a million different keys share them is
 * 10^-17. An attacker cannot construct such a collision or long probe sequences: only callbacks with a valid signature
 * are recorded, and the recorded values are outputs of SHA-256 and of an HMAC whose key only the service knows.
 *
 * Records are in the order of completion. A key has several records if it was delivered with several signatures. The
 * indexes point to the newest record of a key and of a signature.
 */
export class CompletedKeys {
  readonly #records: RecordRing
  readonly #byKey: FingerprintIndex
  readonly #bySignature: FingerprintIndex
  readonly #maxRecords: number
  readonly #wanted = new Uint32Array(16)
  readonly #wantedBytes = Buffer.from(this.#wanted.buffer)
  #latestExpiry = -Infinity

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords
    this.#records = new RecordRing(maxRecords)
    // An index grows in shards, because growing a single table would block the process for a second. When the store is
    // full, shards of 8192 slots are 70 % full, just below the limit for the next growth.
    const shards = Math.ceil(maxRecords / 5700)
    this.#byKey = new FingerprintIndex(this.#records, KEY, shards)
    this.#bySignature = new FingerprintIndex(this.#records, SIGNATURE, shards)
  }

  get size(): number {
    return this.#records.length
  }

  /** What is known of the key and the signature of a callback. */
  find(callback: HashedCallback, now: number): Completed {
    this.#decode(callback)
    const sameKey = this.#unexpired(this.#byKey.find(this.#wanted), now)
    const key = this.#compared(sameKey, BODY, 'same-body', 'other-body')
    // First by the record of the key: a late end can leave one signature completed under two keys.
    if (key === 'same-body' && this.#records.matches(sameKey, SIGNATURE, this.#wanted))
      return { key, signature: 'same-key' }
    const sameSignature = this.#unexpired(this.#bySignature.find(this.#wanted), now)
    return { key, signature: this.#compared(sameSignature, KEY, 'same-key', 'other-key') }
  }

  /** Records a callback until `expiresAt`. Returns whether an unexpired record was removed to make room. */
  add(callback: HashedCallback, expiresAt: number, now: number): boolean {
    this.#decode(callback)
    const isFull = this.#records.length === this.#maxRecords
    const forgotEarly = isFull && this.#records.expiry(this.#records.oldest) > now
    if (isFull) this.#removeOldest()
    // If the clock was set back, a record must not expire before an older one, because only the oldest is checked.
    this.#latestExpiry = Math.max(this.#latestExpiry, expiresAt)
    const position = this.#records.append(this.#wanted, this.#latestExpiry)
    this.#byKey.point(this.#wanted, position)
    this.#bySignature.point(this.#wanted, position)
    return forgotEarly
  }

  /** Removes at most `limit` expired records, so that no call takes long. `find` ignores the remaining ones. */
  removeExpired(now: number, limit: number): void {
    for (let removed = 0; removed < limit && this.#records.length > 0; removed++) {
      if (this.#records.expiry(this.#records.oldest) > now) return
      this.#removeOldest()
    }
  }

  #removeOldest(): void {
    const { oldest } = this.#records
    this.#byKey.remove(oldest)
    this.#bySignature.remove(oldest)
    this.#records.removeOldest()
  }

  #compared<Same extends string, Other extends string>(
    position: number,
    field: Field,
    same: Same,
    other: Other,
  ): Same | Other | 'unknown' {
    if (position === NONE) return 'unknown'
    return this.#records.matches(position, field, this.#wanted) ? same : other
  }

  #unexpired(position: number, now: number): number {
    return position !== NONE && this.#records.expiry(position) > now ? position : NONE
  }

  #decode({ key, bodyHash, signature }: HashedCallback): void {
    // Each write overwrites the end of the previous one. The result is the first 12 bytes of each of the three.
    if (
      this.#wantedBytes.write(key, 0, 32, 'base64') !== 32 ||
      this.#wantedBytes.write(bodyHash, 12, 32, 'base64') !== 32 ||
      this.#wantedBytes.write(signature, 24, 32, 'base64') !== 32
    ) {
      throw new TypeError('bodyHash and signature of a claim must each be 32 bytes in Base64 (44 characters)')
    }
  }
}

const NONE = -1

// The fingerprints of key, body and signature, three words of 32 bits each.
const KEY = 0
const BODY = 3
const SIGNATURE = 6
const WORDS = 9

type Field = typeof KEY | typeof BODY | typeof SIGNATURE

interface Slab {
  readonly words: Uint32Array
  readonly expiries: Float64Array
}

/** Records, oldest to newest, in slabs. An empty slab is released. */
class RecordRing {
  length = 0
  /** The position of the oldest record. */
  oldest = 0
  #next = 0
  readonly #slabs: (Slab | undefined)[]
  readonly #slabBits: number
  /** Positions are below it. */
  readonly positions: number

  constructor(maxRecords: number) {
    this.#slabBits = Math.min(12, Math.ceil(Math.log2(maxRecords)))
    // One slab more than the records need: the newest record may be at the start of a slab and the oldest at the end of
    // another.
    const slabs = Math.ceil(maxRecords / (1 << this.#slabBits)) + 1
    this.#slabs = Array.from({ length: slabs })
    this.positions = slabs * (1 << this.#slabBits)
  }

  append(fingerprints: Uint32Array, expiry: number): number {
    const position = this.#next
    const slab = (this.#slabs[position >>> this.#slabBits] ??= createSlab(1 << this.#slabBits))
    const record = this.#indexInSlab(position)
    for (let i = 0; i < WORDS; i++) slab.words[record * WORDS + i] = fingerprints[i]!
    slab.expiries[record] = expiry
    this.#next = this.#after(position)
    this.length++
    return position
  }

  removeOldest(): void {
    const { oldest } = this
    this.oldest = this.#after(oldest)
    this.length--
    const slab = oldest >>> this.#slabBits
    if (slab !== this.oldest >>> this.#slabBits) this.#slabs[slab] = undefined
  }

  expiry(position: number): number {
    return this.#slab(position).expiries[this.#indexInSlab(position)]!
  }

  word(position: number, index: number): number {
    return this.#slab(position).words[this.#indexInSlab(position) * WORDS + index]!
  }

  matches(position: number, field: Field, fingerprints: Uint32Array): boolean {
    const { words } = this.#slab(position)
    const start = this.#indexInSlab(position) * WORDS
    for (let i = field; i < field + 3; i++) if (words[start + i] !== fingerprints[i]) return false
    return true
  }

  #slab(position: number): Slab {
    return this.#slabs[position >>> this.#slabBits]!
  }

  #indexInSlab(position: number): number {
    return position & ((1 << this.#slabBits) - 1)
  }

  #after(position: number): number {
    return position + 1 === this.positions ? 0 : position + 1
  }
}

function createSlab(records: number): Slab {
  return { words: new Uint32Array(records * WORDS), expiries: new Float64Array(records) }
}

/** Finds the newest record of a fingerprint: hash tables with linear probing, each of which grows separately. */
class FingerprintIndex {
  readonly #records: RecordRing
  readonly #field: Field
  /**
   * A slot is 0 when it is free. Otherwise its low bits are a record's position plus one, and the other bits are those of a word
   * of the fingerprint. They spare a look at most records of other fingerprints: 15 percent of the time of a claim.
   */
  readonly #shards: Uint32Array[]
  readonly #used: Uint32Array
  readonly #positionMask: number

  constructor(records: RecordRing, field: Field, shards: number) {
    this.#records = records
    this.#field = field
    this.#positionMask = 2 ** (32 - Math.clz32(records.positions)) - 1
    this.#shards = Array.from({ length: shards }, () => new Uint32Array(8))
    this.#used = new Uint32Array(shards)
  }

  find(fingerprints: Uint32Array): number {
    const slots = this.#shards[this.#shardOf(fingerprints[this.#field]!)]!
    return this.#positionIn(slots[this.#slotOf(slots, fingerprints)]!)
  }

  /** Makes a record the one that is found by its fingerprint. */
  point(fingerprints: Uint32Array, position: number): void {
    const shard = this.#shardOf(fingerprints[this.#field]!)
    const slots = this.#shards[shard]!
    const slot = this.#slotOf(slots, fingerprints)
    const isNew = slots[slot] === 0
    slots[slot] = (fingerprints[this.#field + 2]! & ~this.#positionMask) | (position + 1)
    if (isNew && ++this.#used[shard]! > slots.length * 0.75) this.#shards[shard] = this.#grown(slots)
  }

  /** Removes a record, unless a newer one has replaced it. */
  remove(position: number): void {
    const shard = this.#shardOf(this.#records.word(position, this.#field))
    const slots = this.#shards[shard]!
    const last = slots.length - 1
    let free = this.#home(slots, position)
    while (this.#positionIn(slots[free]!) !== position) {
      if (slots[free] === 0) return
      free = (free + 1) & last
    }
    // Entries that were probed past this slot move into it, so that no tombstones are needed.
    for (let slot = (free + 1) & last; slots[slot] !== 0; slot = (slot + 1) & last) {
      const distanceFromHome = (slot - this.#home(slots, this.#positionIn(slots[slot]!))) & last
      if (distanceFromHome < ((slot - free) & last)) continue
      slots[free] = slots[slot]!
      free = slot
    }
    slots[free] = 0
    this.#used[shard]!--
  }

  /** The slot of the fingerprint, or the free slot for it. */
  #slotOf(slots: Uint32Array, fingerprints: Uint32Array): number {
    const last = slots.length - 1
    let slot = fingerprints[this.#field + 1]! & last
    while (slots[slot] !== 0 && !this.#isOf(slots[slot]!, fingerprints)) slot = (slot + 1) & last
    return slot
  }

  #isOf(entry: number, fingerprints: Uint32Array): boolean {
    const differing = (entry ^ fingerprints[this.#field + 2]!) & ~this.#positionMask
    return differing === 0 && this.#records.matches(this.#positionIn(entry), this.#field, fingerprints)
  }

  /** The position of the record of an entry, or NONE if the slot is free. */
  #positionIn(entry: number): number {
    return (entry & this.#positionMask) - 1
  }

  #grown(slots: Uint32Array): Uint32Array {
    // Four times the size: with twice the size each entry is moved three times as often.
    const grown = new Uint32Array(slots.length * 4)
    const last = grown.length - 1
    for (const entry of slots) {
      if (entry === 0) continue
      let slot = this.#home(grown, this.#positionIn(entry))
      while (grown[slot] !== 0) slot = (slot + 1) & last
      grown[slot] = entry
    }
    return grown
  }

  #home(slots: Uint32Array, position: number): number {
    return this.#records.word(position, this.#field + 1) & (slots.length - 1)
  }

  /** By a different word than the slot within a shard. Otherwise every shard would use only some of its slots. */
  #shardOf(word: number): number {
    return (word >>> 1) % this.#shards.length
  }
}
