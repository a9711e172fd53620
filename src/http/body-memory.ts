/** Callbacks are a few hundred bytes. */
const SMALL_BODY_BYTES = 16_384

/**
 * Bounds what the bodies of all requests take together, from their first byte until the request is answered. What counts is
 * the memory that was allocated, not the length that a request declares: to declare a length costs the sender nothing.
 *
 * A quarter is left to small bodies. Otherwise 64 unauthenticated connections that send a large body slowly would have
 * genuine callbacks refused for as long as `bodyTimeoutMs`, over and over.
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

  /** Takes `bytes` more for a body that then has `bodyBytes`, unless there is no room. */
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
