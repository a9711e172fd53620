import { AsyncResource } from 'node:async_hooks'
import type { Environment } from '../base/environment.js'
import { isPending, type MaybePending } from '../base/pending.js'
import type { StoredCallback } from '../callback/callback.js'
import { copyOfCallback } from '../callback/copy-of-callback.js'
import type { AddResult, Arrival, ClaimedEntry, ClaimToken, InboxEngine } from '../inbox/engine.js'

interface ArrivalsParts {
  readonly inbox: InboxEngine
  readonly leaseMs: number
  readonly environment: Environment
}

/** What became of an arrival. */
interface ArrivalEvents {
  /** It was stored with its claim. Called after the answers of the same event loop tick. */
  begun(begun: BegunEntry): void
  /** It was stored, and waits for a claim. */
  waits(): void
  /** It was to begin, and needs no slot any more. */
  slotIsFree(): void
  /** It may have been stored or not. */
  failed(): void
}

/** An entry that was stored with its claim. */
export interface BegunEntry {
  readonly entry: ClaimedEntry
  /** When it was given to the inbox, by the monotonic clock. Its lease began no earlier. */
  readonly begunAt: number
}

/** An arrival for which a slot of the worker is kept free. */
interface Beginning {
  readonly callback: StoredCallback
  readonly begunAt: number
}

/** The callbacks that are being stored, and those whose handlers are about to begin. */
export class Arrivals {
  readonly #parts: ArrivalsParts
  readonly #events: ArrivalEvents
  #isSupported = true
  /** In the order in which they were given to the inbox. */
  readonly #beginning = new Set<Beginning>()
  readonly #begun: BegunEntry[] = []
  /** The callers of `ended()`. */
  readonly #waiting: (() => void)[] = []
  readonly #takeBegun: () => void

  constructor(parts: ArrivalsParts, events: ArrivalEvents) {
    this.#parts = parts
    this.#events = events
    // Otherwise the handlers would run in the context (AsyncLocalStorage) of the request of another callback.
    this.#takeBegun = AsyncResource.bind(() => {
      for (const each of this.#begun.splice(0)) events.begun(each)
      this.#mayHaveEnded()
    })
  }

  /** Whether the inbox stores entries with a claim, as far as it is known. */
  get isSupported(): boolean {
    return this.#isSupported
  }

  /** How many slots are kept free. */
  get slots(): number {
    // An inbox that hangs must not use up the slots. A claim that comes so late is handed back: see attempt.ts.
    const tooLate = this.#parts.environment.monotonic() - this.#parts.leaseMs / 2
    for (const beginning of this.#beginning) {
      if (beginning.begunAt > tooLate) break
      this.#beginning.delete(beginning)
    }
    return this.#beginning.size + this.#begun.length
  }

  /** Stores an arrival. With `begins` a slot is free for it. */
  store(arrival: Arrival, begins: boolean): MaybePending<AddResult> {
    const { inbox, leaseMs, environment } = this.#parts
    const { callback, traceContext } = arrival
    const beginning = begins
      ? { callback: copyOfCallback(callback, traceContext), begunAt: environment.monotonic() }
      : undefined
    const adding: MaybePending<AddResult> = beginning ? inbox.add(arrival, { leaseMs }) : inbox.add(arrival)
    if (!isPending(adding)) return this.#added(adding, beginning)
    if (beginning) this.#beginning.add(beginning)
    return adding.then(
      (added) => this.#added(added, beginning),
      (error: unknown) => {
        this.#events.failed()
        if (beginning) {
          this.#free(beginning)
          this.#events.slotIsFree()
        }
        throw error
      },
    )
  }

  /** Resolves once no slot is kept free any more. */
  async ended(): Promise<void> {
    while (this.slots > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #added(added: AddResult, beginning: Beginning | undefined): AddResult {
    // The inbox may be code of the application.
    const isStored = added?.result === 'stored'
    const claim = isStored && beginning && added.claim?.id === added.id ? added.claim : undefined
    if (isStored && beginning) this.#isSupported = claim !== undefined
    if (claim) this.#begin(claim, beginning!)
    if (beginning) this.#free(beginning)
    if (isStored && !claim) this.#events.waits()
    else if (beginning && !claim) this.#events.slotIsFree()
    return added
  }

  // A handler may work for long before it awaits something. Senders must not wait for that.
  #begin({ id, token }: ClaimToken, { callback, begunAt }: Beginning): void {
    const entry = { id, token, callback, attempt: 1, replayed: false, isOrdered: false }
    if (this.#begun.push({ entry, begunAt }) === 1) this.#parts.environment.setImmediate(this.#takeBegun)
  }

  #free(beginning: Beginning): void {
    this.#beginning.delete(beginning)
    this.#mayHaveEnded()
  }

  #mayHaveEnded(): void {
    if (this.#waiting.length > 0 && this.slots === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
