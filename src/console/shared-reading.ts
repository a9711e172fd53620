/**
 * Reads something of the inbox once for all who ask for it within a time. Every open page asks every few seconds, and the inbox
 * must not work more because more operators look at it.
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
    // The next one who asks reads again.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  /** After a decision, which must be visible at once. */
  forget(): void {
    this.#reading = undefined
  }
}
