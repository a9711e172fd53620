/** Callbacks are smaller: they have a few hundred bytes. */
const SMALL_BODY_BYTES = 16_384

/**
 * Limits the memory of the bodies of all requests together, from the first byte until the request is answered. It
 * counts allocated memory and not the declared length, because declaring a length costs the sender nothing.
 *
 * A quarter is reserved for small bodies. Otherwise 64 unauthenticated connections that send large bodies slowly
 * could keep genuine callbacks out for `bodyTimeoutMs`, again and again.
 */
export class BodyMemory {
  readonly #maxBytes: number
  #heldBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Reserves `bytes` for a body that then has `bodyBytes` in all. Returns false if there is no room. */
  hold(bytes: number, bodyBytes: number): boolean {
    const limit = bodyBytes <= SMALL_BODY_BYTES ? this.#maxBytes : this.#maxBytes * 0.75
    if (this.#heldBytes + bytes > limit) return false
    this.#heldBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes
  }
}
