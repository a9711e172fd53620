import { timer } from '../base/timeout.js'

/** A reading is shared for at least so many times its duration. Readings then use a fiftieth of the time. */
const TIMES_DURATION = 50

/** The longest time for which a reading is shared, in milliseconds, however long it took. */
const MAX_FRESH_MS = 30_000

/** If a reading took longer than this, in milliseconds, calls get its value while the next reading runs. */
const SLOW_MS = 50

/** The greatest age of such a value, in milliseconds. */
const MAX_AGE_MS = 60_000

/**
 * Reads a value of the inbox once for all calls within a time. Every open page polls every few seconds. More open pages must not
 * cause more work for the inbox. The time grows with the duration of the reading, because counting a million entries would
 * otherwise slow down the callbacks that arrive.
 */
export class SharedReading<Value> {
  readonly #leastFreshMs: number
  readonly #now: () => number
  #latest: Finished<Value> | undefined
  #running: InFlight<Value> | undefined
  /** A reading that failed after the calls that waited for it had returned. */
  #failed: { readonly reading: Promise<Value>; readonly at: number } | undefined

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

  /**
   * Like `get`, but it waits for at most `waitMs`, and then resolves to undefined. The reading continues. A later call gets its value
   * or its error.
   */
  async getWithin(waitMs: number, read: () => Promise<Value>): Promise<Value | undefined> {
    const failed = this.#failed
    this.#failed = undefined
    if (failed && this.#now() < failed.at + MAX_FRESH_MS) return failed.reading
    const reading = this.get(read)
    let isLate = false
    let cancel = () => {}
    const late = new Promise<undefined>((resolve) => {
      cancel = timer(waitMs, () => {
        isLate = true
        resolve(undefined)
      })
    })
    reading.then(cancel, () => {
      cancel()
      if (isLate) this.#failed = { reading, at: this.#now() }
    })
    return Promise.race([reading, late])
  }

  /** Makes the next call read again. Called after a decision, so that the page shows its result. */
  forget(): void {
    this.#latest = undefined
    this.#running = undefined
    this.#failed = undefined
  }

  #run(read: () => Promise<Value>, startedAt: number): void {
    const running: InFlight<Value> = { reading: read(), startedAt }
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
      // The next call must read again instead of repeating the error.
      () => end(undefined),
    )
  }
}

interface InFlight<Value> {
  readonly reading: Promise<Value>
  readonly startedAt: number
}

interface Finished<Value> {
  readonly reading: Promise<Value>
  readonly freshUntil: number
  /** Until when calls get it while the next reading runs. */
  readonly shownUntil: number
}
