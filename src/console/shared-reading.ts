/** A reading is shared for at least so many times its duration. Readings then use a fiftieth of the time. */
const TIMES_DURATION = 50

/** The longest time for which a reading is shared, in milliseconds, however long it took. */
const MAX_FRESH_MS = 30_000

/** Who asks does not wait for a reading that takes longer than this, in milliseconds, but gets the one before it ... */
const SLOW_MS = 50

/** ... if it is not older than this, in milliseconds. */
const MAX_AGE_MS = 60_000

/**
 * Reads something of the inbox once for all who ask for it within a time. Every open page asks every few seconds, and the inbox
 * must not work more because more operators look at it. To count a million entries takes long enough to slow down the callbacks
 * that arrive, so the time grows with the duration of the reading.
 */
export class SharedReading<Value> {
  readonly #leastFreshMs: number
  readonly #now: () => number
  #latest: Finished<Value> | undefined
  #running: Running<Value> | undefined

  /** `leastFreshMs`: how long a reading is shared at least. `now`: a monotonic clock in milliseconds. */
  constructor(leastFreshMs: number, now: () => number) {
    this.#leastFreshMs = leastFreshMs
    this.#now = now
  }

  get(read: () => Promise<Value>): Promise<Value> {
    const now = this.#now()
    const latest = this.#latest
    if (latest && now < latest.freshUntil) return latest.reading
    if (!this.#running || now >= this.#running.startedAt + MAX_FRESH_MS) this.#run(read, now)
    return latest && now < latest.shownUntil ? latest.reading : this.#running!.reading
  }

  /** After a decision, which must be visible at once. */
  forget(): void {
    this.#latest = undefined
    this.#running = undefined
  }

  #run(read: () => Promise<Value>, startedAt: number): void {
    const running: Running<Value> = { reading: read(), startedAt }
    this.#running = running
    const end = (latest: Finished<Value> | undefined) => {
      // It was forgotten, or another one was started.
      if (this.#running !== running) return
      this.#running = undefined
      this.#latest = latest
    }
    running.reading.then(
      () => {
        const tookMs = this.#now() - startedAt
        const freshMs = Math.min(Math.max(this.#leastFreshMs, TIMES_DURATION * tookMs), MAX_FRESH_MS)
        const shownMs = tookMs > SLOW_MS ? MAX_AGE_MS : 0
        const { reading } = running
        end({ reading, freshUntil: startedAt + freshMs, shownUntil: startedAt + shownMs })
      },
      // The next one who asks reads again.
      () => end(undefined),
    )
  }
}

interface Running<Value> {
  readonly reading: Promise<Value>
  readonly startedAt: number
}

interface Finished<Value> {
  readonly reading: Promise<Value>
  readonly freshUntil: number
  /** Until when it is shown while the next one runs. */
  readonly shownUntil: number
}
