import { AsyncResource } from 'node:async_hooks'
import type { CallbackPayload, StoredCallback } from '../callback/callback.js'
import { copyOfCallback } from '../callback/copy-of-callback.js'
import type { Arrival, BeginOnArrival, ClaimedEntry, ClaimToken } from '../inbox/engine.js'
import type { WorkerParts } from './worker-parts.js'

type LentSlotsParts = Pick<WorkerParts, 'leaseMs' | 'environment'>

/** A slot of a worker that is kept free for an arrival while that is stored. */
export interface Slot {
  /** For `inbox.add`. */
  readonly begins: BeginOnArrival
  readonly callback: StoredCallback
  readonly payload: CallbackPayload | undefined
  /** By the monotonic clock. The lease of the entry begins no earlier. */
  readonly lentAt: number
}

/** An entry that was stored with its claim. */
export interface BegunEntry {
  readonly entry: ClaimedEntry
  readonly payload: CallbackPayload | undefined
  /** When its slot was lent. */
  readonly begunAt: number
}

/** The slots that are kept free for arrivals until these are stored and their handlers begin. */
export class LentSlots {
  readonly #parts: LentSlotsParts
  readonly #begins: BeginOnArrival
  /** In the order in which they were lent. */
  readonly #lent = new Set<Slot>()
  readonly #begun: BegunEntry[] = []
  /** The callers of `ended()`. */
  readonly #waiting: (() => void)[] = []
  readonly #takeBegun: () => void

  /** `take` is called after the answers of the same event loop tick. */
  constructor({ leaseMs, environment }: LentSlotsParts, take: (begun: BegunEntry) => void) {
    this.#parts = { leaseMs, environment }
    this.#begins = { leaseMs }
    // Otherwise the handlers would run in the context (AsyncLocalStorage) of the request of another callback.
    this.#takeBegun = AsyncResource.bind(() => {
      for (const each of this.#begun.splice(0)) take(each)
      this.#mayHaveEnded()
    })
  }

  get count(): number {
    // An inbox that hangs must not use up the slots. A claim that comes so late is handed back: see attempt.ts.
    const tooLate = this.#parts.environment.monotonic() - this.#parts.leaseMs / 2
    for (const slot of this.#lent) {
      if (slot.lentAt > tooLate) break
      this.#lent.delete(slot)
    }
    return this.#lent.size + this.#begun.length
  }

  lend({ callback, traceContext }: Arrival, payload: CallbackPayload | undefined): Slot {
    const lentAt = this.#parts.environment.monotonic()
    const copy = copyOfCallback(callback, traceContext)
    const slot = { begins: this.#begins, callback: copy, payload, lentAt }
    this.#lent.add(slot)
    return slot
  }

  // A handler may work for long before it awaits something. Senders must not wait for that.
  begin(slot: Slot, { id, token }: ClaimToken): void {
    const { callback, payload, lentAt } = slot
    const entry = { id, token, callback, attempt: 1, replayed: false, begun: true, isOrdered: false }
    this.#lent.delete(slot)
    if (this.#begun.push({ entry, payload, begunAt: lentAt }) === 1)
      this.#parts.environment.setImmediate(this.#takeBegun)
  }

  takeBack(slot: Slot): void {
    this.#lent.delete(slot)
    this.#mayHaveEnded()
  }

  /** Resolves once no slot is lent any more. */
  async ended(): Promise<void> {
    while (this.count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #mayHaveEnded(): void {
    if (this.#waiting.length > 0 && this.count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
