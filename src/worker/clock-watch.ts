/** Notices that a clock was set ahead, by comparing it with the monotonic clock of the process. */
export class ClockWatch {
  readonly #clock: () => number
  #last: { readonly time: number; readonly monotonicTime: number } | undefined

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** By how many milliseconds the clock has advanced more than the time that has passed since the last call. */
  aheadMs(): number {
    const now = { time: this.#clock(), monotonicTime: performance.now() }
    const last = this.#last ?? now
    this.#last = now
    return now.time - last.time - (now.monotonicTime - last.monotonicTime)
  }
}
