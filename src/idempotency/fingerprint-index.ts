import type { Field, RecordRing } from './record-ring.js'

/** Returned in place of a position if there is no record. */
export const NONE = -1

/** Finds the newest record of a fingerprint: hash tables with linear probing, each of which grows separately. */
export class FingerprintIndex {
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
