/** Detects that the clock of the database was set ahead, by comparison with the monotonic clock of this process. */
export class StepsAhead {
  #last: { readonly now: number; readonly askedAt: number } | undefined
  #aheadMs = 0

  /** `askedAt`: when the database was asked for the time. The answer may have taken long, which is no step. */
  learn(now: number, askedAt: number): void {
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
