// Not the global: a test that installs fake timers before this file is loaded would stop every handler.
import { setImmediate } from 'node:timers'
import { isPending, type MaybePending } from '../base/pending.js'
import type { VerifiedCallback } from '../callback/callback.js'
import type { AddResult, Arrival, ClaimedEntry, ClaimToken, Inbox } from '../inbox/inbox.js'

const defer = setImmediate

interface ArrivalsParts {
  readonly inbox: Inbox
  readonly leaseMs: number
}

/** An entry that was stored with its claim. */
export interface BegunEntry {
  readonly entry: ClaimedEntry
  /** When it was given to the inbox, by the monotonic clock. Its lease began no earlier. */
  readonly begunAt: number
}

/** The callbacks that are stored with a claim for a free slot of the worker, until their handlers begin. */
export class Arrivals {
  readonly #parts: ArrivalsParts
  readonly #take: (begun: BegunEntry) => void
  #isSupported = true
  /** In the order in which they were given to the inbox. */
  readonly #storing = new Set<{ readonly begunAt: number }>()
  readonly #begun: BegunEntry[] = []
  /** The callers of `ended()`. */
  readonly #waiting: (() => void)[] = []

  /** `take` is called for each of them once the callbacks of its event loop tick are answered. */
  constructor(parts: ArrivalsParts, take: (begun: BegunEntry) => void) {
    this.#parts = parts
    this.#take = take
  }

  /** Whether the inbox stores entries with a claim, as far as it is known. */
  get isSupported(): boolean {
    return this.#isSupported
  }

  /** The slots that are kept free for them. */
  get slots(): number {
    // An inbox that hangs must not use up the slots. A claim that comes so late is handed back.
    const tooLate = performance.now() - this.#parts.leaseMs / 2
    for (const storing of this.#storing) {
      if (storing.begunAt > tooLate) break
      this.#storing.delete(storing)
    }
    return this.#storing.size + this.#begun.length
  }

  store(arrival: Arrival): MaybePending<AddResult> {
    const { inbox, leaseMs } = this.#parts
    const begunAt = performance.now()
    const adding: MaybePending<AddResult> = inbox.add(arrival, { leaseMs })
    if (!isPending(adding)) return this.#stored(arrival, adding, begunAt)
    const storing = { begunAt }
    this.#storing.add(storing)
    return adding.then(
      (added) => {
        this.#storing.delete(storing)
        this.#stored(arrival, added, begunAt)
        this.#mayHaveEnded()
        return added
      },
      (error: unknown) => {
        this.#storing.delete(storing)
        this.#mayHaveEnded()
        throw error
      },
    )
  }

  /** Resolves once none is left. */
  async ended(): Promise<void> {
    while (this.slots > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #stored(arrival: Arrival, added: AddResult, begunAt: number): AddResult {
    if (added.result !== 'stored') return added
    this.#isSupported = added.claim !== undefined
    if (added.claim) this.#begin({ entry: claimedEntry(arrival, added.claim), begunAt })
    return added
  }

  // A handler may work for long before it awaits something. Senders must not wait for that.
  #begin(begun: BegunEntry): void {
    if (this.#begun.push(begun) > 1) return
    defer(() => {
      for (const each of this.#begun.splice(0)) this.#take(each)
      this.#mayHaveEnded()
    })
  }

  #mayHaveEnded(): void {
    if (this.#waiting.length > 0 && this.slots === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** With a copy of the bytes and dates, because listeners of the application may change those of the callback that was received. */
function claimedEntry(
  { callback: received, traceContext }: Arrival,
  { id, token }: ClaimToken,
): ClaimedEntry {
  const { type, idempotencyKey, signedAt, receivedAt, rawBody, subscription, secretFingerprint } = received
  const callback: VerifiedCallback = {
    type,
    idempotencyKey,
    signedAt: new Date(signedAt),
    receivedAt: new Date(receivedAt),
    rawBody: Buffer.from(rawBody),
    subscription,
    secretFingerprint,
    traceContext,
  }
  return { id, token, callback, attempt: 1, replayed: false, isOrdered: false }
}
