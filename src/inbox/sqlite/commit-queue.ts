import type { ArrivalToStore, Write } from './operations.js'

/** A write that waits for a transaction. */
export type Waiting = (
  | { readonly arrival: ArrivalToStore }
  /** Made when its transaction begins. `now` is the time of the inbox. */
  | { readonly write: (now: number) => Write }
) & {
  /** How many entries it changes at most. */
  readonly entries: number
  readonly addedAt: number
  readonly giveUpAt: number
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

export type WaitingArrival = Extract<Waiting, { readonly arrival: unknown }>
export type WaitingWrite = Exclude<Waiting, WaitingArrival>

interface Taken {
  readonly arrivals: readonly WaitingArrival[]
  readonly writes: readonly WaitingWrite[]
}

/** The writes that wait for a transaction. */
export class CommitQueue {
  #arrivals: WaitingArrival[] = []
  #others: WaitingWrite[] = []
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  get isEmpty(): boolean {
    return this.#arrivals.length + this.#others.length === 0
  }

  add(waiting: Waiting): void {
    if ('arrival' in waiting) this.#arrivals.push(waiting)
    else this.#others.push(waiting)
  }

  /** Takes the writes of the next transaction, arrivals first. */
  take(): Taken {
    const arrivals = this.#arrivals.splice(0, MAX_BATCH)
    if (arrivals.length > 0 && this.#othersWait()) return { arrivals, writes: [] }
    return { arrivals, writes: this.#others.splice(0, MAX_BATCH) }
  }

  /** They come before those that were added meanwhile. */
  putBack({ arrivals, writes }: Taken): void {
    this.#arrivals.unshift(...arrivals)
    this.#others.unshift(...writes)
  }

  /** Whether the others wait for a later transaction, because senders would wait until they have changed many entries. */
  #othersWait(): boolean {
    const [oldest] = this.#others
    if (!oldest || this.#monotonic() - oldest.addedAt >= MAX_WAIT_MS) return false
    return this.#others.reduce((sum, { entries }) => sum + entries, 0) > MAX_ENTRIES_BESIDE
  }
}

/** How many writes of each kind share a transaction at most: each of them waits for all. */
const MAX_BATCH = 256
/**
 * How many entries of other writes share a transaction with arrivals. While a worker with 256 slots emptied an inbox, this took
 * a third off the median of an arrival, and a fifth off its 99th percentile.
 */
const MAX_ENTRIES_BESIDE = 64
/** How long the others wait for arrivals at most, in milliseconds. */
const MAX_WAIT_MS = 10
