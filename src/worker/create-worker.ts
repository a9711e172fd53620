import { CountersignError } from '../base/errors.js'
import { settledWithin } from '../base/timeout.js'
import { EventChannel } from '../events/event-channel.js'
import { ListenerErrors } from '../events/listener-errors.js'
import { Dispatcher } from '../handlers/dispatcher.js'
import { warnOfGaps } from '../handlers/handler-gaps.js'
import { Handlers, type AnyEvents, type EventMap } from '../handlers/handlers.js'
import { Registration } from '../handlers/registration.js'
import type { InboxOpener } from '../inbox/engine.js'
import { ENGINE, INBOX, type Inbox } from '../inbox/inbox.js'
import { decisionPublisher } from '../inbox/inbox-openers.js'
import { waitForCallback, type FinishedCallback, type WaitForOptions } from '../inbox/wait-for-callback.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { parseWorkerOptions, type WorkerOptions, type WorkerSettings } from './worker-options.js'
import { Worker } from './worker.js'

/**
 * Handles what receivers of other processes have stored in an inbox.
 *
 * @example
 *   const worker = createWorker({ inbox: new SqliteInbox({ file: 'callbacks.db' }) })
 *   worker.on('transfers.book-completed', async (event) => settleTransfer(event.payload.Id))
 *   await worker.start()
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function createWorker<Events extends object = EventMap>(
  options: WorkerOptions<Events>,
): InboxWorker<Events> {
  const secrets = new KnownSecrets()
  return new InboxWorker(parseWorkerOptions(options, secrets), secrets)
}

/** A worker that handles what receivers have stored in an inbox. `createWorker` makes it. */
export class InboxWorker<Events extends object = AnyEvents> extends Registration<Events> {
  readonly #settings: WorkerSettings
  readonly #handlers: Handlers
  readonly #worker: Worker
  readonly #opener: InboxOpener
  readonly #listenerErrors: ListenerErrors
  #started: Promise<void> | undefined
  #isOpen = false
  #stopped: Promise<void> | undefined

  /** Use `createWorker`. */
  constructor(settings: WorkerSettings, secrets: KnownSecrets) {
    const { handlerTimeoutMs, leaseMs, schemas, dependencyTimeoutMs, logger, environment } = settings
    const listenerErrors = new ListenerErrors(logger)
    const events = new EventChannel((error, event) => listenerErrors.write(error, event))
    const inbox = settings.inbox[ENGINE]
    const hasTransactions = inbox.transact !== undefined
    const handlers = new Handlers(handlerTimeoutMs, leaseMs, 'worker', { hasTransactions })
    super(handlers, events)
    const dispatcher = new Dispatcher({
      handlers,
      schemas,
      schemaTimeoutMs: dependencyTimeoutMs,
      logger,
      environment,
    })
    this.#settings = settings
    this.#handlers = handlers
    this.#listenerErrors = listenerErrors
    this.#worker = new Worker({ ...settings, inbox, handlers, dispatcher, events, secrets })
    this.#opener = decisionPublisher(events, () => this.#worker.wake())
  }

  /** For the console and for metrics. It is not a part of the public interface. */
  get [INBOX](): Inbox {
    return this.#settings.inbox
  }

  /** Whether the inbox is being emptied: started, and not stopping. For a readiness probe. */
  get ready(): boolean {
    return this.#isOpen && this.#stopped === undefined
  }

  /**
   * Opens the inbox and begins to empty it. Warns in the log when there is no handler. Safe to call twice, and again after it
   * failed.
   * @throws CountersignError ERR_STOPPED; or the inbox's error, when it cannot be opened
   */
  async start(): Promise<void> {
    if (this.#stopped) {
      const message =
        'start: the worker has been stopped and cannot start again. Create a new one with createWorker.'
      throw new CountersignError('ERR_STOPPED', message)
    }
    this.#handlers.freeze()
    await (this.#started ??= this.#start().catch((error: unknown) => {
      this.#started = undefined
      throw error
    }))
  }

  /**
   * Resolves once no handler runs, and every entry that this worker has a handler for has been handled, is dead, waits for its
   * next attempt, or runs in another process. For tests and scripts.
   */
  idle(): Promise<void> {
    return this.#worker.idle()
  }

  /**
   * Resolves once the callback with this X-Idempotency-Key has been handled, by this process or by another one that shares the
   * inbox, or is dead, in quarantine or discarded. For tests and scripts.
   * @throws CountersignError ERR_WAIT_TIMEOUT, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; or the error of the inbox
   */
  waitFor(idempotencyKey: string, options: WaitForOptions = {}): Promise<FinishedCallback> {
    const { events, [INBOX]: inbox } = this
    return waitForCallback(idempotencyKey, options, { owner: 'worker.waitFor', events, inbox })
  }

  /**
   * Claims nothing more, and resolves once the running handlers have finished and the inbox is closed. The inbox stays open if
   * another receiver or worker has opened the same object. After `stopTimeoutMs` the signals of the handlers are aborted, and
   * handlers that ignore their signal are not waited for. Safe to call twice.
   */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #start(): Promise<void> {
    const { inbox, logger } = this.#settings
    await inbox[ENGINE].open(this.#opener)
    this.#isOpen = true
    warnOfGaps(undefined, this.#handlers.registered, logger)
    // Without handlers it would only mark entries as unhandled that a worker in another process is about to handle.
    if (!this.#handlers.isEmpty) this.#worker.start()
  }

  async #stop(): Promise<void> {
    const { inbox, stopTimeoutMs, environment } = this.#settings
    await Promise.all([
      this.#worker.stop(stopTimeoutMs),
      settledWithin(this.#started, stopTimeoutMs, environment),
    ])
    this.#listenerErrors.flush()
    await inbox[ENGINE].close(this.#opener)
  }
}
