import type { ProcessorTimer } from '../base/processor-time.js'

/** How often `take` looks at the clock, which costs a tenth of an HMAC. The first HMACs are computed in any case. */
const CLOCK_INTERVAL = 8

/** Bounds the work of one explanation: HMACs and processor time, whichever ends first. */
export class SearchLimit {
  readonly #maxHmacs: number
  readonly #maxMs: number
  readonly #timer: Pick<ProcessorTimer, 'exceeds'>
  #hmacs = 0
  #stoppedBy: 'maxHmacs' | 'maxMs' | undefined
  #isCut = false
  #isListCut = false

  constructor(maxHmacs: number, maxMs: number, timer: Pick<ProcessorTimer, 'exceeds'>) {
    this.#maxHmacs = maxHmacs
    this.#maxMs = maxMs
    this.#timer = timer
  }

  get hmacs(): number {
    return this.#hmacs
  }

  /** The limit that ended the search; undefined if everything was tried. */
  get stoppedBy(): 'maxHmacs' | 'maxMs' | undefined {
    return this.#stoppedBy ?? (this.#isCut ? 'maxMs' : this.#isListCut ? 'maxHmacs' : undefined)
  }

  /** Whether no further HMAC is allowed. */
  get isOver(): boolean {
    return this.#stoppedBy !== undefined
  }

  /** Whether one more HMAC may be computed. */
  take(): boolean {
    if (this.#hmacs >= this.#maxHmacs) this.#stoppedBy ??= 'maxHmacs'
    else if (this.#hmacs > 0 && this.#hmacs % CLOCK_INTERVAL === 0) this.isTimeOver()
    if (this.#stoppedBy) return false
    this.#hmacs++
    return true
  }

  /** Whether all of the time is over, which ends the search. */
  isTimeOver(): boolean {
    if (this.#timer.exceeds(this.#maxMs)) this.#stoppedBy ??= 'maxMs'
    return this.#stoppedBy === 'maxMs'
  }

  /**
   * The beginning of a list whose items cost so many HMACs: as many as half of all HMACs allow, and at least one. The other half
   * is for changes.
   */
  halfOf<Item>(items: readonly Item[], hmacsOf: (item: Item) => number): readonly Item[] {
    let sum = 0
    const end = items.findIndex((item, index) => (sum += hmacsOf(item)) > this.#maxHmacs / 2 && index > 0)
    this.#isListCut ||= end !== -1
    return end === -1 ? items : items.slice(0, end)
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
