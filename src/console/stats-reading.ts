import type { InboxOperations, InboxStats } from '../inbox/operations.js'

/** Every open page asks this often. */
const FRESH_MS = 1_000

/** Counts the entries of an inbox once for all who ask at about the same time. */
export class StatsReading {
  readonly #operations: Pick<InboxOperations, 'stats'>
  readonly #now: () => number
  #reading: Promise<InboxStats> | undefined
  #readAt = -Infinity

  /** `now`: a monotonic clock in milliseconds. */
  constructor(operations: Pick<InboxOperations, 'stats'>, now: () => number) {
    this.#operations = operations
    this.#now = now
  }

  get(): Promise<InboxStats> {
    if (this.#reading && this.#now() - this.#readAt < FRESH_MS) return this.#reading
    this.#readAt = this.#now()
    const reading = this.#operations.stats()
    this.#reading = reading
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
