/** The clock of an inbox. It detects that it was set back. */
export class InboxClock {
  readonly #clock: () => number
  #latest = -Infinity
  #setBackMs = 0
  // Not 0: the entries may have been written by another process, whose clock was ahead.
  #steps = 1
  #handledSteps = 0

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** In whole milliseconds: columns hold whole numbers, and performance.timeOrigin + performance.now() is none. */
  now(): number {
    const now = Math.floor(this.#clock())
    if (now < this.#latest) {
      this.#steps++
      this.#setBackMs += this.#latest - now
    }
    this.#latest = now
    return now
  }

  /** A number that is not 0 while due times may have been set by a clock that was ahead of this one. */
  get unhandledSteps(): number {
    return this.#steps === this.#handledSteps ? 0 : this.#steps
  }

  /**
   * To be called with `unhandledSteps` once the due times have been set anew. `aheadMs` is how far ahead of the clock the
   * latest of them was set. Returns by how much the clock was set back, or undefined when that is not worth reporting.
   */
  handled(steps: number, aheadMs: number): number | undefined {
    const setBackMs = Math.max(this.#setBackMs, aheadMs)
    this.#handledSteps = steps
    this.#setBackMs = 0
    return setBackMs >= REPORTED_MS ? setBackMs : undefined
  }
}

/** NTP makes smaller corrections all the time. */
const REPORTED_MS = 1_000
