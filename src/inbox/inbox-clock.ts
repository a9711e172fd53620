import { wrongOption } from '../base/option-checks.js'
import type { TimesCorrection, UnfinishedEntry } from './times-correction.js'

/** The clock of an inbox. It detects that it was set back. */
export class InboxClock {
  readonly #clock: () => number
  #latest = -Infinity
  #setBackMs = 0
  // Not 0: the entries may have been written by another process, whose clock was ahead.
  #steps = 1
  #handledSteps = 0
  /** Set while due times are being corrected, if there are so many that this takes several calls. */
  #begun: (TimesCorrection & { readonly steps: number }) | undefined

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /**
   * In whole milliseconds: columns hold whole numbers, and performance.timeOrigin + performance.now() has fractions. Without the
   * exception an entry would get no due time and never be handled.
   * @throws CountersignError ERR_OPTION_INVALID if the clock does not return a number
   */
  now(): number {
    const now = Math.floor(this.#clock())
    if (!Number.isFinite(now)) {
      const cure = 'return a number of milliseconds, as Date.now does'
      throw wrongOption('inbox', 'clock', `clock returned ${now}: ${cure}.`)
    }
    if (now < this.#latest) {
      this.#steps++
      this.#setBackMs += this.#latest - now
    }
    this.#latest = now
    return now
  }

  /** To be called when a due time was found that was set by a clock ahead of this one. */
  isBehind(): void {
    if (this.unhandledSteps === 0) this.#steps++
  }

  /** A number that is not 0 while due times may have been set by a clock that was ahead of this one. */
  get unhandledSteps(): number {
    return this.#steps === this.#handledSteps ? 0 : this.#steps
  }

  /** Where the correction of due times for these steps continues. Undefined if it has not begun. */
  continuesAt(steps: number): UnfinishedEntry | undefined {
    return this.#begun?.steps === steps ? this.#begun.next : undefined
  }

  /**
   * To be called with `unhandledSteps` once due times have been corrected. Returns by how much the clock was set back, or undefined
   * when that is not worth reporting, or when the correction continues.
   */
  handled(steps: number, { aheadMs, next }: TimesCorrection): number | undefined {
    const latestMs = Math.max(aheadMs, this.#begun?.steps === steps ? this.#begun.aheadMs : 0)
    this.#begun = next && { steps, aheadMs: latestMs, next }
    if (next) return undefined
    const setBackMs = Math.max(this.#setBackMs, latestMs)
    this.#handledSteps = steps
    this.#setBackMs = 0
    return setBackMs >= REPORTED_MS ? setBackMs : undefined
  }
}

/** NTP makes smaller corrections all the time. */
const REPORTED_MS = 1_000
