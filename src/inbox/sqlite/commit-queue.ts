import type { Connection } from './connection.js'

export type Operation<Result> = (connection: Connection) => Result

export interface Waiting {
  readonly operation: Operation<unknown>
  /** Whether a sender waits for the answer. */
  readonly isArrival: boolean
  /** Whether it resolves only when the disk has its commit. */
  readonly isDurable: boolean
  readonly giveUpAt: number
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The operations that wait for a transaction. */
export class CommitQueue {
  #arrivals: Waiting[] = []
  #others: Waiting[] = []

  get isEmpty(): boolean {
    return this.#arrivals.length + this.#others.length === 0
  }

  get hasArrivals(): boolean {
    return this.#arrivals.length > 0
  }

  add(waiting: Waiting): void {
    const queue = waiting.isArrival ? this.#arrivals : this.#others
    queue.push(waiting)
  }

  /** Takes the operations of the next transaction, arrivals first. */
  take(): readonly Waiting[] {
    const others = this.#others.splice(0, MAX_BATCH)
    return [...this.#arrivals.splice(0, MAX_BATCH), ...others]
  }

  /** They come before those that were added meanwhile. */
  putBack(taken: readonly Waiting[]): void {
    this.#arrivals.unshift(...taken.filter(({ isArrival }) => isArrival))
    this.#others.unshift(...taken.filter(({ isArrival }) => !isArrival))
  }
}

/** How many operations of each kind share a transaction at most: a batch blocks the event loop. */
const MAX_BATCH = 256
