import { performance } from 'node:perf_hooks'

const PROBE_INTERVAL_MS = 1_000

/**
 * Bounds how much waits for a queue that does not answer. Clients of Redis keep commands while they are offline, and each
 * holds a body: without a bound, an outage would fill the memory of the receiver.
 */
export class OverdueAdds {
  readonly #limit: number
  /** Monotonic milliseconds. */
  readonly #clock: () => number
  readonly #overdue = new Set<Promise<unknown>>()
  #nextProbeAt = -Infinity

  constructor(limit = 100, clock = () => performance.now()) {
    this.#limit = limit
    this.#clock = clock
  }

  /** Whether one more may begin. At the limit one a second may, to find out whether the queue answers again. */
  admits(): boolean {
    if (this.#overdue.size < this.#limit) return true
    const now = this.#clock()
    if (now < this.#nextProbeAt) return false
    this.#nextProbeAt = now + PROBE_INTERVAL_MS
    return true
  }

  /** To be called with an add that exceeded its time and has not ended. */
  keep(adding: Promise<unknown>): void {
    this.#overdue.add(adding)
    const end = () => void this.#overdue.delete(adding)
    adding.then(end, end)
  }

  /** To be called when the queue has answered: adds that have not ended by now may never end. */
  forget(): void {
    this.#overdue.clear()
  }
}
