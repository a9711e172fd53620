import { SYSTEM, type Environment, type Timer } from '../../base/environment.js'
import { commitChannel, type CommitMeasurement } from '../../base/measurements.js'

interface BatchesOptions<Item, Result> {
  /** Carries out a batch as one step. Resolves to the results in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Whether an error concerns every item, and not one of them. */
  readonly isFault: (error: unknown) => boolean
  readonly bytesOf: (item: Item) => number
  /** Items with the same text are never in two batches at once, so that they stay in their order. */
  readonly orderOf: (item: Item) => string | undefined
  /** How long the items that wait are gathered while a batch is being carried out. */
  readonly patienceMs: number
  /** How long an item waits for its batch at most. */
  readonly limitMs: number
  /** With what an item is rejected that has waited for longer. */
  readonly lateError: () => Error
  /** @default that of this process */
  readonly environment?: Environment | undefined
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly addedAt: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Carries out the items of one event loop tick as a batch. Items that arrive while a batch is being carried out form the next
 * one, which begins when that batch has ended. It begins earlier if it is full, or if that batch takes long, for example because a
 * lock is held. If a batch fails because of one item, its items are carried out one by one, so that the others succeed.
 */
export class Batches<Item, Result> {
  readonly #options: BatchesOptions<Item, Result>
  readonly #environment: Environment
  #waiting: Waiting<Item, Result>[] = []
  readonly #running = new Set<Promise<void>>()
  /** The orders of the items that are being carried out. */
  readonly #orders = new Set<string>()
  #isScheduled = false
  #latestBeganAt = 0
  #retry: Timer | undefined

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = options
    this.#environment = options.environment ?? SYSTEM
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, addedAt: this.#environment.monotonic(), resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      this.#environment.setImmediate(() => {
        this.#isScheduled = false
        this.#start()
      })
    })
  }

  /** Resolves once nothing waits and nothing is being carried out. */
  async idle(): Promise<void> {
    this.#start()
    while (this.#running.size > 0) await Promise.race(this.#running)
  }

  #start(): void {
    while (this.#mayBegin()) {
      this.#refuseLate()
      const batch = this.#take()
      if (batch.length === 0) return
      this.#latestBeganAt = this.#environment.monotonic()
      const running = this.#carryOut(batch).finally(() => {
        this.#running.delete(running)
        this.#environment.clearTimeout(this.#retry)
        this.#retry = undefined
        for (const { item } of batch) {
          const order = this.#options.orderOf(item)
          if (order !== undefined) this.#orders.delete(order)
        }
        this.#start()
      })
      this.#running.add(running)
    }
  }

  /** While the server does not answer, more items may arrive than fail, and their bodies would fill the memory. */
  #refuseLate(): void {
    const { limitMs, lateError } = this.#options
    const latest = this.#environment.monotonic() - limitMs
    const isLate = ({ addedAt }: Waiting<Item, Result>) => addedAt < latest
    // The oldest is first.
    if (!this.#waiting[0] || !isLate(this.#waiting[0])) return
    for (const { reject } of this.#waiting.filter(isLate)) reject(lateError())
    this.#waiting = this.#waiting.filter((waiting) => !isLate(waiting))
  }

  #mayBegin(): boolean {
    if (this.#running.size === 0) return true
    if (this.#running.size === MAX_RUNNING || this.#waiting.length === 0) return false
    const waitMs = this.#latestBeganAt + this.#options.patienceMs - this.#environment.monotonic()
    if (waitMs <= 0 || this.#waiting.length >= MAX_ITEMS) return true
    this.#retry ??= this.#environment.setTimeout(() => {
      this.#retry = undefined
      this.#start()
    }, waitMs)
    return false
  }

  #take(): Waiting<Item, Result>[] {
    const { bytesOf, orderOf } = this.#options
    const batch: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const heldBack = new Set(this.#orders)
    const ownOrders = new Set<string>()
    let bytes = 0
    for (const waiting of this.#waiting) {
      const order = orderOf(waiting.item)
      const size = bytesOf(waiting.item)
      const fits = batch.length < MAX_ITEMS && (batch.length === 0 || bytes + size <= MAX_BYTES)
      const hasRoom = order === undefined || ownOrders.has(order) || ownOrders.size < MAX_ORDERS
      if (fits && hasRoom && (order === undefined || !heldBack.has(order))) {
        bytes += size
        batch.push(waiting)
        if (order !== undefined) ownOrders.add(order)
      } else {
        left.push(waiting)
        // The later ones of its order wait as well.
        if (order !== undefined) heldBack.add(order)
      }
    }
    for (const order of ownOrders) this.#orders.add(order)
    this.#waiting = left
    return batch
  }

  async #carryOut(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const startedAt = this.#environment.monotonic()
      const results = await this.#options.run(batch.map(({ item }) => item))
      if (commitChannel.hasSubscribers) {
        const durationMs = this.#environment.monotonic() - startedAt
        commitChannel.publish({ size: batch.length, durationMs } satisfies CommitMeasurement)
      }
      batch.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      if (batch.length === 1 || this.#options.isFault(error)) for (const { reject } of batch) reject(error)
      else for (const waiting of batch) await this.#carryOut([waiting])
    }
  }
}

/** How many batches are carried out at once. A larger number would mean smaller batches and more commits. */
const MAX_RUNNING = 2
const MAX_ITEMS = 256
/** Each takes one of the locks of the server, which all its sessions share (max_locks_per_transaction). */
const MAX_ORDERS = 32
const MAX_BYTES = 8 * 1_048_576
