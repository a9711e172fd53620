/** How often `take` looks at the clock, which costs a tenth of an HMAC. The first HMACs are computed in any case. */
const CLOCK_INTERVAL = 8

/** Bounds the work of one explanation: HMACs and time, whichever ends first. */
export class SearchLimit {
  readonly #maxHmacs: number
  readonly #halfAt: number
  readonly #endsAt: number
  #hmacs = 0
  #stoppedBy: 'maxHmacs' | 'maxMs' | undefined
  #isCut = false

  constructor(maxHmacs: number, maxMs: number) {
    this.#maxHmacs = maxHmacs
    this.#halfAt = performance.now() + maxMs / 2
    this.#endsAt = performance.now() + maxMs
  }

  get hmacs(): number {
    return this.#hmacs
  }

  /** The limit that ended the search; undefined if everything was tried. */
  get stoppedBy(): 'maxHmacs' | 'maxMs' | undefined {
    return this.#stoppedBy ?? (this.#isCut ? 'maxMs' : undefined)
  }

  /** Whether one more HMAC may be computed. */
  take(): boolean {
    if (this.#hmacs >= this.#maxHmacs) this.#stoppedBy ??= 'maxHmacs'
    else if (this.#hmacs > 0 && this.#hmacs % CLOCK_INTERVAL === 0 && performance.now() > this.#endsAt)
      this.#stoppedBy ??= 'maxMs'
    if (this.#stoppedBy) return false
    this.#hmacs++
    return true
  }

  /**
   * Whether half of the time is over. Other forms of a large body may take no more than that, as pairs of the other inputs
   * would never be tried.
   */
  isHalfOver(): boolean {
    if (performance.now() > this.#halfAt) this.#isCut = true
    return this.#isCut
  }
}
