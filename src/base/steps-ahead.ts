import { SYSTEM, type Environment } from './environment.js'

/** Detects that a clock was set ahead, by comparison with the monotonic clock of this process. */
export class StepsAhead {
  readonly #environment: Environment
  #last: { readonly now: number; readonly askedAt: number } | undefined
  #aheadMs = 0

  constructor(environment: Environment = SYSTEM) {
    this.#environment = environment
  }

  /** `askedAt`: when the clock was asked. A slow answer of a database must not look like a step. */
  learn(now: number, askedAt = this.#environment.monotonic()): void {
    const last = this.#last
    this.#last = { now, askedAt }
    const passedMs = last ? this.#environment.monotonic() - last.askedAt : 0
    if (last) this.#aheadMs = Math.max(this.#aheadMs, now - last.now - passedMs)
  }

  /** By how many milliseconds at least the clock was set ahead since the last call. */
  take(): number {
    const aheadMs = this.#aheadMs
    this.#aheadMs = 0
    return aheadMs
  }
}
