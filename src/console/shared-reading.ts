/** A reading is shared for at least so many times its duration. Readings then use a fiftieth of the time. */
const TIMES_DURATION = 50

/** The longest time for which a reading is shared, in milliseconds, however long it took. */
const MAX_FRESH_MS = 30_000

/**
 * Reads something of the inbox once for all who ask for it within a time. Every open page asks every few seconds, and the inbox
 * must not work more because more operators look at it. To count a million entries takes long enough to slow down the callbacks
 * that arrive, so the time grows with the duration of the reading.
 */
export class SharedReading<Value> {
  readonly #leastFreshMs: number
  readonly #now: () => number
  #reading: Promise<Value> | undefined
  #freshUntil = -Infinity

  /** `leastFreshMs`: how long a reading is shared at least. `now`: a monotonic clock in milliseconds. */
  constructor(leastFreshMs: number, now: () => number) {
    this.#leastFreshMs = leastFreshMs
    this.#now = now
  }

  get(read: () => Promise<Value>): Promise<Value> {
    const startedAt = this.#now()
    if (this.#reading && startedAt < this.#freshUntil) return this.#reading
    const reading = read()
    this.#reading = reading
    this.#freshUntil = startedAt + MAX_FRESH_MS
    reading.then(
      () => {
        if (this.#reading !== reading) return
        const wanted = Math.max(this.#leastFreshMs, TIMES_DURATION * (this.#now() - startedAt))
        this.#freshUntil = startedAt + Math.min(wanted, MAX_FRESH_MS)
      },
      // The next one who asks reads again.
      () => {
        if (this.#reading === reading) this.#reading = undefined
      },
    )
    return reading
  }

  /** After a decision, which must be visible at once. */
  forget(): void {
    this.#reading = undefined
  }
}
