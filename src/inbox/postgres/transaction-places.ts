import { timer } from '../../base/timeout.js'
import { busyError } from './inbox-error.js'

/** Connections of the pool that transactional handlers leave: one for leases, one for notifications, two for callbacks. */
const RESERVED_CONNECTIONS = 4

/** How many transactional handlers may hold a connection of a pool of this size. */
export function maxTransactionsOf(maxConnections: number): number {
  return Math.max(1, maxConnections - RESERVED_CONNECTIONS)
}

/** Limits how many transactions there are at once, so that they do not take every connection of the pool. */
export class TransactionPlaces {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#free = max
  }

  /** @throws CountersignError ERR_INBOX_BUSY when none becomes free within `limitMs`; and what `work` throws */
  async run<Result>(
    work: () => Promise<Result>,
    { schema, busyTimeoutMs }: { schema: string; busyTimeoutMs: number },
  ): Promise<Result> {
    if (this.#free > 0) this.#free--
    else await this.#place(busyTimeoutMs, schema)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #place(limitMs: number, schema: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        cancel()
        resolve()
      }
      const cancel = timer(limitMs, () => {
        this.#waiting.delete(enter)
        const why = `${limitMs} ms for one of the connections that the pool has for transactional handlers`
        reject(busyError(schema, why))
      })
      this.#waiting.add(enter)
    })
  }

  /** Hands the place on to whoever has waited longest. */
  #leave(): void {
    const [next] = this.#waiting
    if (!next) return void this.#free++
    this.#waiting.delete(next)
    next()
  }
}
