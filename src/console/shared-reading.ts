/**
 * Reads a value of the inbox once for all calls within `freshMs` milliseconds. Every open page polls every few seconds. More open
 * pages must not cause more work for the inbox.
 */
export class SharedReading<Value> {
  readonly #freshMs: number
  readonly #now: () => number
  #reading: Promise<Value> | undefined
  #readAt = -Infinity

  /** `now`: a monotonic clock in milliseconds. */
  constructor(freshMs: number, now: () => number) {
    this.#freshMs = freshMs
    this.#now = now
  }

  get(read: () => Promise<Value>): Promise<Value> {
    if (this.#reading && this.#now() - this.#readAt < this.#freshMs) return this.#reading
    this.#readAt = this.#now()
    const reading = read()
    this.#reading = reading
    // The next call must read again instead of repeating the error.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  /** Makes the next call read again. Called after a decision, so that the page shows its result. */
  forget(): void {
    this.#reading = undefined
  }
}
