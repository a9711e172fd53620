import { setMaxListeners } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createAuthenticator } from '../callback/authenticator.js'
import type { CallbackEvent, VerifiedCallback } from '../callback/callback.js'
import { Dispatcher, type Failure } from '../handlers/dispatcher.js'
import {
  checkIsFunction,
  Handlers,
  type AnyEvent,
  type EventMap,
  type Handler,
  type HandlerOptions,
} from '../handlers/handlers.js'
import { InlineHandling } from './inline-acceptance.js'
import { CountersignError } from '../base/errors.js'
import { warnOfGaps } from '../handlers/handler-gaps.js'
import { answerTo, type CallbackAnswer } from '../http/answer.js'
import { callbackListener, type CallbackListener } from '../http/callback-listener.js'
import { fromFetch, toFetch } from '../http/fetch-request.js'
import type { OutcomeLog } from '../http/log-outcome.js'
import { plainHead, readPlainBody, type PlainRequest } from '../http/plain-request.js'
import { callbackProcessor, type ProcessCallback } from '../http/process-callback.js'
import { refuseMisuse, type Middleware } from '../http/middleware.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { LogThrottle } from '../logging/log-throttle.js'
import type { Logger } from '../logging/logger.js'
import { checkKnownOptions, functionOption, invalidOption } from '../base/option-checks.js'
import { InboxHandling } from './durable-acceptance.js'
import { Worker } from '../worker/worker.js'
import { outcome, type Outcome } from '../callback/outcomes.js'
import type { Handling } from './acceptance.js'
import { Pipeline } from './pipeline.js'
import { inboxOption, parseReceiverOptions, storeOption, type ReceiverOptions } from './settings.js'

/** A `request` listener; as a `checkContinue` listener it is given what sends `100 Continue`, where that is deserved. */
export type ReceiverRequestListener = (
  request: IncomingMessage,
  response: ServerResponse,
  sendContinue?: () => void,
) => void

/** What to answer a request, and what became of it. */
export interface ReceivedCallback extends CallbackAnswer {
  /** For the operator: its reason must not reach the sender. */
  readonly outcome: Outcome
}

export interface RequestListenerOptions {
  /** The path of callbacks; a POST to another path goes to the app. @default every path */
  readonly path?: string | undefined
  /**
   * Whether no other listener of the server reads the requests. Callbacks are then collected into batches before their bodies
   * are read, which is faster. @default false
   */
  readonly exclusive?: boolean | undefined
}

/**
 * Takes callbacks in: proves each one genuine, and has it handled once.
 *
 * @example
 *   const receiver = createReceiver({ subscriptions: [{ eventTypeName, callbackUrl, secret }] })
 *   receiver.on('transfers.book-completed', async (event) => settleTransfer(event.payload.Id))
 *   app.post('/hooks/transfers', receiver.middleware())
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function createReceiver<Events extends object = EventMap>(
  options: ReceiverOptions<Events>,
): Receiver<Events> {
  return new Receiver(options)
}

/** How many lines a second are written for listeners that throw when they are told of an unverified callback. */
const LISTENER_ERRORS_PER_SECOND = 10

export class Receiver<Events extends object = EventMap> {
  readonly #handlers: Handlers
  readonly #handling: Handling
  readonly #process: ProcessCallback
  readonly #listener: CallbackListener
  readonly #lingerMs: number
  readonly #pipeline: Pipeline
  readonly #logger: Logger
  /** Undefined where a function finds the subscriptions. */
  readonly #subscribedTypes: readonly string[] | undefined
  readonly #outcomeLog: OutcomeLog
  readonly #listenerThrottle: LogThrottle
  readonly #stopTimeoutMs: number
  readonly #outcomeListeners: ((outcome: Outcome) => void)[] = []
  readonly #errorListeners: ((error: unknown, outcome: Outcome) => void)[] = []
  readonly #stopping = new AbortController()
  #started = false
  #stopped: Promise<void> | undefined

  /** Use `createReceiver`. `secrets` are further ones that must not stand in a log line or in a stored reason. */
  constructor(options: ReceiverOptions<Events>, secrets = new KnownSecrets()) {
    const { limits, handlerTimeoutMs, leaseMs, stopTimeoutMs, schemas, logger, outcomeLog, clock } =
      parseReceiverOptions(options, secrets)
    const subscriptions = secrets.of(options.subscriptions)
    const authenticator = createAuthenticator('createReceiver', { ...options, subscriptions }, logger)
    const { dependencyTimeoutMs } = authenticator
    const handlers = new Handlers(handlerTimeoutMs, leaseMs)
    const dispatcher = new Dispatcher({ handlers, schemas, schemaTimeoutMs: dependencyTimeoutMs, logger })
    const shared = { handlers, dispatcher, leaseMs, dependencyTimeoutMs, logger }
    const durable = inboxOption(options, authenticator)
    this.#handlers = handlers
    this.#logger = logger
    this.#subscribedTypes =
      typeof options.subscriptions === 'function'
        ? undefined
        : options.subscriptions.map(({ eventTypeName }) => eventTypeName)
    this.#outcomeLog = outcomeLog
    this.#listenerThrottle = new LogThrottle(LISTENER_ERRORS_PER_SECOND, (code, suppressed, overMs) =>
      logger.error({ code, suppressed, overMs }, `listeners threw ${suppressed} more times in ${overMs} ms`),
    )
    this.#stopTimeoutMs = stopTimeoutMs
    if (durable) {
      const onFailure = ({ code, error }: Failure, callback: VerifiedCallback) =>
        this.#tellError(error, outcome(code, callback, error))
      const worker = new Worker({ ...shared, ...durable, clock, secrets, onFailure })
      this.#handling = new InboxHandling({ ...shared, ...durable, worker })
    } else {
      this.#handling = new InlineHandling({
        ...shared,
        store: storeOption(options.store, authenticator, { clock, logger }),
      })
    }
    const stopping = this.#stopping.signal
    // Each callback whose body is on its way listens to it.
    setMaxListeners(Infinity, stopping)
    const pipeline = new Pipeline(authenticator, this.#handling, stopping)
    this.#pipeline = pipeline
    this.#process = callbackProcessor({
      limits,
      outcomeLog,
      stopping,
      receive: (callback, credentials) => {
        this.#handlers.freeze()
        return pipeline.receive(callback, credentials)
      },
      onOutcome: (outcome) => this.#tell(outcome),
    })
    this.#lingerMs = limits.bodyTimeoutMs
    this.#listener = callbackListener(this.#process, { lingerMs: this.#lingerMs, exclusive: false })
  }

  /**
   * Registers a handler for an event type. Several may be registered: they run side by side, and the callback has been
   * handled when all have finished.
   * @throws CountersignError ERR_RECEIVER_STARTED after the first callback, ERR_HANDLER_INVALID, ERR_OPTION_INVALID
   */
  on<Type extends keyof Events & string>(
    type: Type,
    handler: Handler<CallbackEvent<Type, Events[Type]>>,
    options?: HandlerOptions,
  ): this {
    this.#handlers.on(type, handler as Handler, options)
    return this
  }

  /** Registers a handler for every event, beside those of its type. */
  onAny(handler: Handler<AnyEvent<Events>>, options?: HandlerOptions): this {
    this.#handlers.onAny(handler as unknown as Handler, options)
    return this
  }

  /** Registers a handler for events that have no other. Without one they are answered 500. */
  onUnhandled(handler: Handler<CallbackEvent>, options?: HandlerOptions): this {
    this.#handlers.onUnhandled(handler, options)
    return this
  }

  /**
   * Is told of each error that kept a callback from being handled, with what became of the callback. Not told of
   * unauthenticated requests, unless something underneath failed, such as the subscriptions function.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onError(listener: (error: unknown, outcome: Outcome) => void): this {
    checkIsFunction('onError: the listener', listener)
    this.#errorListeners.push(listener)
    return this
  }

  /**
   * Is told what became of each callback, refused ones included, once it has been answered.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onOutcome(listener: (outcome: Outcome) => void): this {
    checkIsFunction('onOutcome: the listener', listener)
    this.#outcomeListeners.push(listener)
    return this
  }

  /**
   * The whole receiver as middleware, for Express 4 and 5 and anything like it. Mount it ahead of body parsers; it answers
   * every request that it is given.
   */
  middleware(misuse?: never): Middleware {
    refuseMisuse('receiver.middleware', misuse)
    const listener = this.#listener
    return function countersignReceiver(request, response) {
      void listener(request, response)
    }
  }

  /**
   * The whole receiver for an application that makes its own `http.createServer(...)`: every POST is a callback, whatever
   * its path, unless `path` is given: a proxy may have rewritten the path. All else goes to `app`; without one it is
   * answered 405. Much faster than mounted middleware, as callbacks do not go through Express.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
   */
  requestListener(app?: RequestListener, options: RequestListenerOptions = {}): ReceiverRequestListener {
    const owner = 'receiver.requestListener'
    if (app !== undefined) functionOption(owner, 'app', app, app)
    checkKnownOptions(owner, options, ['path', 'exclusive'])
    const { path, exclusive = false } = options
    if (typeof exclusive !== 'boolean')
      throw invalidOption(owner, 'exclusive', exclusive, 'use true or false')
    // What the path of no request can be would leave every callback to the app.
    if (path !== undefined && (typeof path !== 'string' || !/^\/[^?#]*$/.test(path)))
      throw invalidOption(owner, 'path', path, 'use a path without a query, such as "/hooks/transfers"')
    const listener = exclusive
      ? callbackListener(this.#process, { lingerMs: this.#lingerMs, exclusive })
      : this.#listener
    const isCallback = ({ method, url }: IncomingMessage): boolean =>
      method === 'POST' && (path === undefined || url?.split('?', 1)[0] === path)
    return function countersignRequestListener(request, response, sendContinue) {
      if (!app || isCallback(request)) return void listener(request, response, sendContinue)
      sendContinue?.()
      app(request, response)
    }
  }

  /**
   * Takes in one request as plain values, and returns what to answer and what became of it. For servers that speak neither
   * `node:http` nor Fetch. Give `rawHeaders` where there is such a list: repeated headers cannot be seen in `headers`.
   * Never rejects.
   */
  async receive(request: PlainRequest): Promise<ReceivedCallback> {
    let received!: Outcome
    await this.#process(
      plainHead(request),
      (options) => readPlainBody(request.body, options),
      (outcome) => (received = outcome),
    )
    return { ...answerTo(received), outcome: received }
  }

  /** The whole receiver for servers and frameworks that speak Fetch: reads the request within the limits. Never rejects. */
  async fetch(request: Request): Promise<Response> {
    return toFetch(await this.receive(fromFetch(request)))
  }

  /** Whether callbacks are taken in: started, and not stopping. For a readiness probe. */
  get ready(): boolean {
    return this.#started && this.#stopped === undefined
  }

  /**
   * Opens the inbox, where there is one, and begins to empty it. Warns in the log of what cannot be right: no handlers,
   * a subscribed type without a handler, a handler of a type that is not subscribed. Safe to call twice.
   * @throws CountersignError ERR_RECEIVER_STOPPED; or the inbox's error, when it cannot be opened
   */
  async start(): Promise<void> {
    if (this.#stopped) {
      const message =
        'start: the receiver has been stopped, which is for good. Make a new one with createReceiver.'
      throw new CountersignError('ERR_RECEIVER_STOPPED', message)
    }
    this.#handlers.freeze()
    await this.#handling.start()
    warnOfGaps(this.#subscribedTypes, this.#handlers.registered, this.#logger)
    this.#started = true
  }

  /**
   * Takes no more callbacks in, nor bodies that are on their way (503), and resolves once the running handlers have
   * finished. After `stopTimeoutMs` their signals are aborted; those that do not listen are left behind. Closes the inbox.
   * Safe to call twice.
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
      this.#listenerThrottle.flush()
    }
  }

  #tell(outcome: Outcome): void {
    for (const listener of this.#outcomeListeners) void this.#shield(() => listener(outcome), outcome)
    if (outcome.outcome !== 'failed' && outcome.outcome !== 'unavailable') return
    // Listeners raise alarms, and an unauthenticated sender must not be able to raise them.
    if (!outcome.callback && outcome.error === undefined) return
    this.#tellError(outcome.error ?? new CountersignError(outcome.code, outcome.reason), outcome)
  }

  #tellError(error: unknown, outcome: Outcome): void {
    for (const listener of this.#errorListeners) void this.#shield(() => listener(error, outcome), outcome)
  }

  /** What a listener throws, or an async one rejects with, must not come between a callback and its answer. */
  async #shield(tell: () => unknown, { callback }: Outcome): Promise<void> {
    try {
      await tell()
    } catch (error) {
      const code = 'ERR_LISTENER_FAILED'
      // A listener that always fails does so for each forged request, too.
      if (!callback && !this.#listenerThrottle.admits(code)) return
      this.#logger.error({ code, err: error }, 'a listener threw')
    }
  }
}
