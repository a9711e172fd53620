/** Admits at most a given number of calls per second. */
export class PerSecondLimit {
  readonly #perSecond: number
  readonly #now: () => number
  #startedAt = -Infinity
  #admitted = 0

  /** `now`: a monotonic clock in milliseconds. */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond
    this.#now = now
  }

  admits(): boolean {
    const now = this.#now()
    if (now - this.#startedAt >= 1_000) [this.#startedAt, this.#admitted] = [now, 0]
    return this.#admitted++ < this.#perSecond
  }
}
