import type { CallbackEvent, EntryId } from '../callback/callback.js'
import { childLogger } from '../logging/guarded-logger.js'
import type { HandlerLogger } from '../logging/handler-logger.js'
import type { Logger } from '../logging/logger.js'
import type { PostgresTransaction } from '../inbox/postgres/guarded-transaction.js'
import type { HandlerContext } from './handlers.js'
import { LACKS_SHARED_STORE } from './shared-store.js'

/** Aborts handlers. An AbortController creates its signal on demand, which takes 1 percent of the time of a handled entry. */
export type Stop = Pick<AbortController, 'signal'>

interface ContextOptions {
  /** @default undefined: there is no inbox */
  readonly entryId: EntryId | undefined
  readonly lacksSharedStore: boolean
  /** Only for a transactional handler. */
  readonly transaction: PostgresTransaction | undefined
}

/** Creates the signal and the logger on demand: most handlers use neither. */
export class Context implements HandlerContext {
  readonly attempt: number
  readonly entryId: EntryId | undefined
  readonly [LACKS_SHARED_STORE]: boolean
  declare readonly transaction?: PostgresTransaction
  readonly #event: CallbackEvent
  readonly #parentLogger: Logger
  readonly #stop: Stop
  #logger: HandlerLogger | undefined
  #controller: AbortController | undefined
  #onStop: (() => void) | undefined
  #abortedWith: Error | undefined
  #isClosed = false

  constructor(
    event: CallbackEvent,
    attempt: number,
    logger: Logger,
    stop: Stop,
    { entryId, lacksSharedStore, transaction }: ContextOptions,
  ) {
    this.attempt = attempt
    this.entryId = entryId
    this[LACKS_SHARED_STORE] = lacksSharedStore
    if (transaction) this.transaction = transaction
    this.#event = event
    this.#parentLogger = logger
    this.#stop = stop
  }

  get logger(): HandlerLogger {
    const { idempotencyKey, type } = this.#event
    return (this.#logger ??= childLogger(this.#parentLogger, {
      idempotencyKey,
      eventType: type,
      attempt: this.attempt,
      ...(this.entryId !== undefined && { entryId: this.entryId }),
    }))
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = (this.#controller = new AbortController())
      const { signal } = this.#stop
      this.#onStop = () => controller.abort(signal.reason)
      if (this.#abortedWith) controller.abort(this.#abortedWith)
      else if (signal.aborted) this.#onStop()
      else if (!this.#isClosed) signal.addEventListener('abort', this.#onStop, { once: true })
    }
    return this.#controller.signal
  }

  abort(error: Error): void {
    this.#abortedWith = error
    this.#controller?.abort(error)
    // Immediately, because a handler that ignores its signal may never return.
    this.close()
  }

  // Without this, each callback would leave a listener on the receiver's own signal.
  close(): void {
    this.#isClosed = true
    if (this.#onStop) this.#stop.signal.removeEventListener('abort', this.#onStop)
  }
}
