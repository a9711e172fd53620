import type { OutcomeCode } from '../callback/outcomes.js'

export interface RefusalCount {
  readonly code: OutcomeCode
  readonly total: number
  readonly lastHour: number
  readonly lastAt: number
}

interface Counted {
  total: number
  lastAt: number
  /** The count of each of the last 60 minutes. `minute` is in minutes since 1970. */
  readonly minutes: { minute: number; count: number }[]
}

const MINUTE_MS = 60_000
const MINUTES = 60

/** Counts refused requests by code. The number of codes is fixed, and so is the memory. */
export class RefusalCounts {
  readonly #clock: () => number
  readonly #byCode = new Map<OutcomeCode, Counted>()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  add(code: OutcomeCode): void {
    const now = this.#clock()
    let counted = this.#byCode.get(code)
    if (!counted) {
      const minutes = Array.from({ length: MINUTES }, () => ({ minute: -1, count: 0 }))
      this.#byCode.set(code, (counted = { total: 0, lastAt: now, minutes }))
    }
    counted.total++
    counted.lastAt = now
    const minute = Math.floor(now / MINUTE_MS)
    const slot = counted.minutes[minute % MINUTES]!
    if (slot.minute !== minute) Object.assign(slot, { minute, count: 0 })
    slot.count++
  }

  /** The most frequent first. */
  get all(): readonly RefusalCount[] {
    const oldest = Math.floor(this.#clock() / MINUTE_MS) - MINUTES
    return [...this.#byCode]
      .map(([code, { total, lastAt, minutes }]) => ({
        code,
        total,
        lastAt,
        lastHour: minutes.reduce((sum, { minute, count }) => sum + (minute > oldest ? count : 0), 0),
      }))
      .sort((one, other) => other.lastHour - one.lastHour || other.total - one.total)
  }
}
