const WINDOW_MS = 300_000

/**
 * Estimates how far the clock of this machine is ahead of the clock of the service. A callback arrives later than it was signed,
 * sometimes hours later. So the smallest difference between both times within the last minutes is nearest to the difference of
 * the clocks. It is too large by the shortest delivery, and by up to a second because the service signs whole seconds.
 */
export class ClockSkew {
  readonly #now: () => number
  #windowEndsAt = -Infinity
  #current = Infinity
  #previous = Infinity

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** To be called for verified callbacks only: the timestamp of a forged one could be anything. */
  add(signedAt: Date, receivedAt: Date): void {
    this.#moveWindow()
    this.#current = Math.min(this.#current, receivedAt.getTime() - signedAt.getTime())
  }

  /** In milliseconds; undefined if no callback was verified within 5 to 10 minutes. */
  get ms(): number | undefined {
    this.#moveWindow()
    const smallest = Math.min(this.#current, this.#previous)
    return smallest === Infinity ? undefined : smallest
  }

  #moveWindow(): void {
    const now = this.#now()
    if (now < this.#windowEndsAt) return
    this.#previous = now < this.#windowEndsAt + WINDOW_MS ? this.#current : Infinity
    this.#current = Infinity
    this.#windowEndsAt = now + WINDOW_MS
  }
}

/**
 * How long ago a callback was signed, in milliseconds. 0 if the clock of the service is ahead: the sum of a histogram must not
 * decrease, and the SDK of OpenTelemetry drops a negative value.
 */
export function ageMs(signedAt: Date): number {
  return Math.max(0, Date.now() - signedAt.getTime())
}
