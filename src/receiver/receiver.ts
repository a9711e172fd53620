import { setMaxListeners } from 'node:events'
import type { RequestListener } from 'node:http'
import { RequestCapture } from '../capture/request-capture.js'
import { createAuthenticator } from '../callback/authenticator.js'
import { EventChannel } from '../events/event-channel.js'
import { ListenerErrors } from '../events/listener-errors.js'
import type { StoredEvent } from '../events/lifecycle-events.js'
import { publishAnswer } from '../events/publish-answer.js'
import { Dispatcher } from '../handlers/dispatcher.js'
import { checkIsFunction, Handlers, type EventMap } from '../handlers/handlers.js'
import { Registration } from '../handlers/registration.js'
import { InlineAcceptance } from './inline-acceptance.js'
import { CountersignError } from '../base/errors.js'
import { warnOfGaps } from '../handlers/handler-gaps.js'
import { answerTo, reportAnswer, type CallbackAnswer } from '../http/answer.js'
import { callbackListener, type CallbackListener } from '../http/callback-listener.js'
import { fromFetch, toFetch } from '../http/fetch-request.js'
import { OutcomeLog } from '../http/log-outcome.js'
import { plainHead, readPlainBody, type PlainRequest } from '../http/plain-request.js'
import { callbackProcessor, type ProcessCallback } from '../http/process-callback.js'
import { refuseMisuse, type Middleware } from '../http/middleware.js'
import { silentLogger, type Logger } from '../logging/logger.js'
import type { InboxOperations } from '../inbox/operations.js'
import { publishedOperations } from '../inbox/published-operations.js'
import { ProbeResponder } from '../probe/responder.js'
import { waitForCallback, type FinishedCallback, type WaitForOptions } from '../inbox/wait-for-callback.js'
import { DurableAcceptance } from './durable-acceptance.js'
import { Worker } from '../worker/worker.js'
import type { Outcome } from '../callback/outcomes.js'
import type { Acceptance } from './acceptance.js'
import { Pipeline } from './pipeline.js'
import { RefusalDiagnosis } from './refusal-diagnosis.js'
import { warnOfBodyParser } from './self-check/body-parser-ahead.js'
import { selfCheck } from './self-check/self-check.js'
import {
  requestListener,
  type ReceiverRequestListener,
  type RequestListenerOptions,
} from './request-listener.js'
import { parseReceiverOptions, type ReceiverOptions, type ReceiverSettings } from './settings.js'

/** What to answer a request, and its outcome. */
export interface ReceivedCallback extends CallbackAnswer {
  /** For the operator only: the sender must not learn the reason. */
  readonly outcome: Outcome
}

/**
 * Creates a receiver, which verifies callbacks and has each one handled once.
 *
 * @example
 *   const receiver = createReceiver({ subscriptions: [{ eventTypeName, callbackUrl, secret }] })
 *   receiver.on('transfers.book-completed', async (event) => settleTransfer(event.payload.Id))
 *   app.post('/hooks/transfers', receiver.middleware())
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function createReceiver<Events extends object = EventMap, Transaction = unknown>(
  options: ReceiverOptions<Events, Transaction>,
): Receiver<Events, Transaction> {
  return new Receiver(parseReceiverOptions(options))
}

export class Receiver<Events extends object = EventMap, Transaction = unknown> extends Registration<
  Events,
  Transaction
> {
  /**
   * What operators do with the inbox. What `act` does is also published on `events`, and makes the worker of this process look
   * at once. `close` has no effect: `stop()` closes the inbox. Undefined without an inbox, and if the inbox lacks one of the operations.
   */
  readonly operations: InboxOperations | undefined
  readonly #handlers: Handlers
  readonly #acceptance: Acceptance
  readonly #process: ProcessCallback
  readonly #listener: CallbackListener
  readonly #lingerMs: number
  readonly #pipeline: Pipeline
  readonly #logger: Logger
  /** Undefined if a function returns the subscriptions. */
  readonly #subscribedTypes: readonly string[] | undefined
  readonly #checked: ReceiverSettings['checked']
  readonly #outcomeLog: OutcomeLog
  readonly #diagnosis: RefusalDiagnosis | undefined
  readonly #capture: RequestCapture | undefined
  readonly #listenerErrors: ListenerErrors
  readonly #hasInbox: boolean
  readonly #stopTimeoutMs: number
  readonly #stopping = new AbortController()
  #started = false
  #stopped: Promise<void> | undefined

  /** Use `createReceiver`. */
  constructor(settings: ReceiverSettings) {
    const { limits, handlerTimeoutMs, leaseMs, schemas, logger, acceptance, secrets } = settings
    const { dependencyTimeoutMs, clock } = settings.authentication
    const authenticator = createAuthenticator(settings.authentication)
    const hasTransactions = 'inbox' in acceptance && acceptance.inbox.transact !== undefined
    const handlers = new Handlers(handlerTimeoutMs, leaseMs, 'receiver', { hasTransactions })
    const capture = settings.capture && new RequestCapture(settings.capture, { logger, clock })
    const listenerErrors = new ListenerErrors(logger)
    const events = new EventChannel((error, event) => listenerErrors.write(error, event))
    const diagnosis =
      settings.diagnosis &&
      new RefusalDiagnosis(settings.diagnosis, { authentication: settings.authentication, logger, events })
    const outcomeLog = new OutcomeLog(logger, settings.logRefusalsPerSecond, () => diagnosis?.take())
    super(handlers, events)
    const dispatcher = new Dispatcher({ handlers, schemas, schemaTimeoutMs: dependencyTimeoutMs, logger })
    if (logger !== silentLogger) events.subscribe('answered', (event) => outcomeLog.write(event))
    const shared = { handlers, dispatcher, leaseMs, dependencyTimeoutMs, events, logger }
    this.#hasInbox = 'inbox' in acceptance
    this.#handlers = handlers
    this.#logger = logger
    this.#subscribedTypes = settings.subscribedTypes
    this.#checked = settings.checked
    this.#outcomeLog = outcomeLog
    this.#diagnosis = diagnosis
    this.#capture = capture
    this.#listenerErrors = listenerErrors
    this.#stopTimeoutMs = settings.stopTimeoutMs
    if ('inbox' in acceptance) {
      const worker = new Worker({ ...shared, ...acceptance, clock, secrets })
      this.operations = publishedOperations(acceptance.inbox, events, () => worker.wake())
      this.#acceptance = new DurableAcceptance({ ...shared, ...acceptance, worker })
    } else {
      this.#acceptance = new InlineAcceptance({ ...shared, ...acceptance })
    }
    const stopping = this.#stopping.signal
    // Each callback whose body is arriving listens to it.
    setMaxListeners(Infinity, stopping)
    const pipeline = new Pipeline(authenticator, this.#acceptance, stopping, events)
    this.#pipeline = pipeline
    this.#process = callbackProcessor({
      limits,
      stopping,
      receive: (callback, credentials, head, arrivedAt) => {
        this.#handlers.freeze()
        return pipeline.receive(callback, credentials, head, arrivedAt)
      },
      probes: settings.doctor
        ? { responder: new ProbeResponder({ ...settings.authentication, ...limits }), logger }
        : undefined,
      onAnswered: (answered) => {
        publishAnswer(events, answered.outcome, answered.head.headers, answered.durationMs)
        diagnosis?.consider(answered)
        capture?.take(answered)
      },
    })
    this.#lingerMs = limits.bodyTimeoutMs
    this.#listener = callbackListener(this.#process, { lingerMs: this.#lingerMs, exclusive: false })
  }

  /**
   * Calls the listener with the outcome of each request, refused ones included, after it has been answered.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onOutcome(listener: (outcome: Outcome) => void): this {
    checkIsFunction('onOutcome: the listener', listener)
    return this.subscribe('onOutcome', 'answered', ({ outcome }) => listener(outcome))
  }

  /**
   * Calls the listener for each callback that was stored in quarantine, where an operator has to decide about it.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onQuarantined(listener: (event: StoredEvent) => void): this {
    return this.subscribe('onQuarantined', 'quarantined', listener)
  }

  /**
   * The whole receiver as middleware, for Express 4 and 5 and compatible frameworks. Mount it before body parsers. It answers
   * every request that reaches it.
   */
  middleware(misuse?: never): Middleware {
    refuseMisuse('receiver.middleware', misuse)
    const listener = this.#listener
    const logger = this.#logger
    let isFirst = true
    return function countersignReceiver(request, response) {
      if (isFirst) {
        isFirst = false
        warnOfBodyParser(request, countersignReceiver, logger)
      }
      void listener(request, response)
    }
  }

  /**
   * The whole receiver as a listener for an application with its own `http.createServer(...)`. Every POST is a
   * callback unless `path` is given, because a proxy may have rewritten the path. Other requests go to `app`;
   * without `app` they are answered 405. It is much faster than mounted middleware, because callbacks bypass
   * Express.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
   */
  requestListener(app?: RequestListener, options: RequestListenerOptions = {}): ReceiverRequestListener {
    return requestListener(app, options, (exclusive) =>
      exclusive ? callbackListener(this.#process, { lingerMs: this.#lingerMs, exclusive }) : this.#listener,
    )
  }

  /**
   * Processes one request given as plain values, and returns what to answer and the outcome. For servers with
   * neither `node:http` nor Fetch. Pass `rawHeaders` if the server has such a list, because repeated headers cannot
   * be seen in `headers`. Never rejects.
   */
  async receive(request: PlainRequest): Promise<ReceivedCallback> {
    let received!: Outcome
    let probed: string | undefined
    await this.#process({
      head: plainHead(request),
      readBody: (options) => readPlainBody(request.body, options),
      answer(outcome, report) {
        received = outcome
        probed = report
      },
    })
    return { ...(probed === undefined ? answerTo(received) : reportAnswer(probed)), outcome: received }
  }

  /**
   * The whole receiver for servers and frameworks with the Fetch API. Reads the request within the limits. Never
   * rejects.
   */
  async fetch(request: Request): Promise<Response> {
    return toFetch(await this.receive(fromFetch(request)))
  }

  /**
   * Whether callbacks are accepted: the receiver has started, is not stopping, and no newer version has migrated
   * the inbox. For a readiness probe.
   */
  get ready(): boolean {
    return this.#started && this.#stopped === undefined && this.#acceptance.ready
  }

  /**
   * Opens the inbox, if there is one, and starts to empty it; or opens the store, if it has `open`. A receiver with an
   * inbox and without handlers only stores, and another process handles (`createWorker`). Logs a warning for a likely
   * mistake: neither handlers nor an inbox, a subscribed type without a handler, a handler of a type that is not
   * subscribed, a weak secret, a private callbackUrl, a store that other processes do not share. Safe to call twice.
   * @throws CountersignError ERR_RECEIVER_STOPPED; or the error of the inbox or the store if it cannot be opened
   */
  async start(): Promise<void> {
    if (this.#stopped) {
      const message =
        'start: the receiver has been stopped, which is for good. Make a new one with createReceiver.'
      throw new CountersignError('ERR_RECEIVER_STOPPED', message)
    }
    this.#handlers.freeze()
    await this.#acceptance.start()
    warnOfGaps(this.#subscribedTypes, this.#handlers.registered, this.#logger, { hasInbox: this.#hasInbox })
    if (!this.#started) selfCheck({ ...this.#checked, logger: this.#logger })
    this.#started = true
  }

  /**
   * Resolves once every callback that has arrived is answered, and no handler runs. With an inbox, every entry that this process
   * has a handler for has then been handled, is dead, waits for its next attempt, or runs in another process. For tests and
   * scripts.
   */
  idle(): Promise<void> {
    return this.#pipeline.idle()
  }

  /**
   * Resolves once the callback with this X-Idempotency-Key has been handled, by this process or by another one that shares the
   * inbox, or is dead, in quarantine or discarded. For tests and scripts. Without an inbox call it before the callback
   * arrives; it then resolves only when the callback has been handled.
   * @throws CountersignError ERR_WAIT_TIMEOUT, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; or the error of the inbox
   */
  waitFor(idempotencyKey: string, options: WaitForOptions = {}): Promise<FinishedCallback> {
    const { events, operations } = this
    return waitForCallback(idempotencyKey, options, { owner: 'receiver.waitFor', events, operations })
  }

  /**
   * Accepts no more callbacks: new and unfinished requests are answered 503. Resolves once the running handlers
   * have finished. After `stopTimeoutMs` their signals are aborted, and handlers that ignore the signal are not
   * waited for. Closes the inbox. Safe to call twice.
   */
  stop(): Promise<void> {
    this.#stopping.abort()
    return (this.#stopped ??= this.#stop())
  }

  async #stop(): Promise<void> {
    try {
      await this.#pipeline.stop(this.#stopTimeoutMs)
    } finally {
      this.#outcomeLog.flush()
      this.#diagnosis?.flush()
      await this.#capture?.end(this.#stopTimeoutMs)
      this.#listenerErrors.flush()
    }
  }
}
