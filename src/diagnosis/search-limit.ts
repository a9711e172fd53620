import { startProcessorTimer, type ProcessorTimer } from '../base/processor-time.js'

/** How often `take` looks at the clock, which costs a tenth of an HMAC. The first HMACs are computed in any case. */
const CLOCK_INTERVAL = 8

/** Bounds the work of one explanation: HMACs and processor time, whichever ends first. */
export class SearchLimit {
  readonly #maxHmacs: number
  readonly #maxMs: number
  readonly #timer: ProcessorTimer
  #hmacs = 0
  #stoppedBy: 'maxHmacs' | 'maxMs' | undefined
  #isCut = false

  constructor(maxHmacs: number, maxMs: number, timer = startProcessorTimer()) {
    this.#maxHmacs = maxHmacs
    this.#maxMs = maxMs
    this.#timer = timer
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
    else if (this.#hmacs > 0 && this.#hmacs % CLOCK_INTERVAL === 0 && this.#timer.exceeds(this.#maxMs))
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
    this.#isCut ||= this.#timer.exceeds(this.#maxMs / 2)
    return this.#isCut
  }
}
