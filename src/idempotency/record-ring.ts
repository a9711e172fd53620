/** Where the fingerprints of key, body and signature begin in a record. Each has three words of 32 bits. */
export const KEY = 0
export const BODY = 3
export const SIGNATURE = 6
const WORDS = 9

export type Field = typeof KEY | typeof BODY | typeof SIGNATURE

/** Records of completed callbacks, oldest to newest, in slabs. An empty slab is released. */
export class RecordRing {
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

interface Slab {
  readonly words: Uint32Array
  readonly expiries: Float64Array
}

function createSlab(records: number): Slab {
  return { words: new Uint32Array(records * WORDS), expiries: new Float64Array(records) }
}
