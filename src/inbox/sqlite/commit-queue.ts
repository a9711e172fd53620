import type { Connection } from './connection.js'

export type Operation<Result> = (connection: Connection) => Result

export interface Waiting {
  readonly operation: Operation<unknown>
  /** Whether a sender waits for the answer. */
  readonly isArrival: boolean
  /** Whether it resolves only when the disk has its commit. */
  readonly isDurable: boolean
  /** How many entries it changes at most. */
  readonly entries: number
  readonly addedAt: number
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
    const arrivals = this.#arrivals.splice(0, MAX_BATCH)
    if (arrivals.length > 0 && this.#othersWait()) return arrivals
    return [...arrivals, ...this.#others.splice(0, MAX_BATCH)]
  }

  /** They come before those that were added meanwhile. */
  putBack(taken: readonly Waiting[]): void {
    this.#arrivals.unshift(...taken.filter(({ isArrival }) => isArrival))
    this.#others.unshift(...taken.filter(({ isArrival }) => !isArrival))
  }

  /** Whether the others wait for a later transaction, because senders would wait until they have changed many entries. */
  #othersWait(): boolean {
    const [oldest] = this.#others
    if (!oldest || performance.now() - oldest.addedAt >= MAX_WAIT_MS) return false
    return this.#others.reduce((sum, { entries }) => sum + entries, 0) > MAX_ENTRIES_BESIDE
  }
}

/** How many operations of each kind share a transaction at most: a batch blocks the event loop. */
const MAX_BATCH = 256
/**
 * How many entries of other operations share a transaction with arrivals. While a worker with 256 slots emptied an inbox, this took
 * a third off the median of an arrival, and a fifth off its 99th percentile.
 */
const MAX_ENTRIES_BESIDE = 64
/** How long the others wait for arrivals at most, in milliseconds. */
const MAX_WAIT_MS = 10
