/** Detects that a clock was set ahead, by comparison with the monotonic clock of this process. */
export class StepsAhead {
  #last: { readonly now: number; readonly askedAt: number } | undefined
  #aheadMs = 0

  /** `askedAt`: when the clock was asked. A slow answer of a database must not look like a step. */
  learn(now: number, askedAt = performance.now()): void {
    const last = this.#last
    this.#last = { now, askedAt }
    if (last) this.#aheadMs = Math.max(this.#aheadMs, now - last.now - (performance.now() - last.askedAt))
  }

  /** By how many milliseconds at least the clock was set ahead since the last call. */
  take(): number {
    const aheadMs = this.#aheadMs
    this.#aheadMs = 0
    return aheadMs
  }
}
