import type { RequestListener } from 'node:http'
import type { StoredEvent } from '../events/lifecycle-events.js'
import type { AnyEvents, EventMap } from '../handlers/handlers.js'
import { Registration } from '../handlers/registration.js'
import { checkIsFunction } from '../base/check-is-function.js'
import { CountersignError } from '../base/errors.js'
import { invalidOption } from '../base/option-checks.js'
import { warnOfGaps } from '../handlers/handler-gaps.js'
import { answerTo, type CallbackAnswer } from '../http/answer.js'
import { callbackListener, type CallbackListener } from '../http/callback-listener.js'
import { fromFetch, toFetch } from '../http/fetch-request.js'
import { FETCHED_BODY, readPlainBody, RECEIVED_BODY, type BodyTexts } from '../http/plain-body.js'
import { plainRequest, type PlainRequest } from '../http/plain-request.js'
import { refuseMisuse, requireNodeResponse, type Middleware } from '../http/middleware.js'
import { INBOX, type Inbox } from '../inbox/inbox.js'
import { waitForCallback, type FinishedCallback, type WaitForOptions } from '../inbox/wait-for-callback.js'
import type { Outcome } from '../callback/outcomes.js'
import { createParts, type ReceiverParts } from './receiver-parts.js'
import { warnOfBodyParser } from './self-check/body-parser-ahead.js'
import { selfCheck } from './self-check/self-check.js'
import {
  requestListener,
  type ReceiverRequestListener,
  type RequestListenerOptions,
} from './request-listener.js'
import { stopWith, type StopOptions } from './stop-options.js'
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
export function createReceiver<Events extends object = EventMap>(
  options: ReceiverOptions<Events>,
): Receiver<Events> {
  return new Receiver(parseReceiverOptions(options))
}

/** Verifies callbacks, and handles or stores them. `createReceiver` makes it. */
export class Receiver<Events extends object = AnyEvents> extends Registration<Events> {
  readonly #parts: ReceiverParts
  readonly #listener: CallbackListener
  #started = false
  #stopped: Promise<void> | undefined

  /** Use `createReceiver`. */
  constructor(settings: ReceiverSettings) {
    const parts = createParts(settings)
    super(parts.handlers, parts.events)
    this.#parts = parts
    const { processCallback, lingerMs, logger } = parts
    this.#listener = callbackListener(processCallback, { lingerMs, exclusive: false, logger })
  }

  /** For the console and for metrics. It is not a part of the public interface. */
  get [INBOX](): Inbox | undefined {
    return this.#parts.inbox
  }

  /**
   * Calls the listener with the outcome of each request, refused ones included, after it has been answered. The probes of
   * `countersign doctor` have no outcome.
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
    if (misuse !== undefined)
      throw invalidOption(
        'receiver.middleware',
        'options',
        misuse,
        'leave it out: createReceiver takes the options',
      )
    const listener = this.#listener
    const { logger } = this.#parts
    let isFirst = true
    // h3 (Nitro, Nuxt) answers 204 immediately if a middleware has fewer than three parameters.
    return function countersignReceiver(request, response, _next) {
      requireNodeResponse('receiver.middleware', response)
      if (isFirst) {
        isFirst = false
        warnOfBodyParser(request, countersignReceiver, logger)
      }
      listener(request, response)
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
    const { processCallback, lingerMs, logger } = this.#parts
    return requestListener(app, options, (exclusive) =>
      exclusive ? callbackListener(processCallback, { lingerMs, exclusive, logger }) : this.#listener,
    )
  }

  /**
   * Processes one request given as plain values, and returns what to answer and the outcome. For servers with
   * neither `node:http` nor Fetch. Pass `rawHeaders` if the server has such a list, because repeated headers cannot
   * be seen in `headers`. Whatever a sender sends, it does not reject.
   * @throws CountersignError ERR_OPTION_INVALID if the argument is not a request
   */
  async receive(request: PlainRequest): Promise<ReceivedCallback> {
    return this.#receive(request, RECEIVED_BODY)
  }

  async #receive(request: PlainRequest, bodyTexts: BodyTexts): Promise<ReceivedCallback> {
    let received!: Outcome
    await this.#parts.processCallback({
      request: plainRequest(request),
      readBody: (options) => readPlainBody(request.body, options, bodyTexts),
      answer(outcome) {
        received = outcome
      },
    })
    return { outcome: received, ...answerTo(received) }
  }

  /**
   * The whole receiver for servers and frameworks with the Fetch API. Reads the request within the limits. Whatever a
   * sender sends, it does not reject. It may be passed on without the receiver: `export const POST = receiver.fetch`.
   * @throws CountersignError ERR_OPTION_INVALID if the argument is not a request
   */
  readonly fetch = async (request: Request): Promise<Response> =>
    toFetch(await this.#receive(fromFetch(request), FETCHED_BODY))

  /**
   * Whether callbacks are accepted: the receiver has started, is not stopping, and no newer version has migrated
   * the inbox. For a readiness probe.
   */
  get ready(): boolean {
    return this.#started && this.#stopped === undefined && this.#parts.acceptance.ready
  }

  /**
   * Opens the inbox, if there is one, and starts to empty it; or opens the store, if it has `open`. A receiver with an
   * inbox and without handlers only stores, and another process handles (`createWorker`). Logs a warning for a likely
   * mistake: neither handlers nor an inbox, a subscribed type without a handler, a handler of a type that is not
   * subscribed, a weak secret, a private callbackUrl, a store that other processes do not share. Safe to call twice.
   * @throws CountersignError ERR_STOPPED; or the error of the inbox or the store if it cannot be opened
   */
  async start(): Promise<void> {
    if (this.#parts.stopping.signal.aborted) {
      const message =
        'start: the receiver has been stopped and cannot start again. Create a new one with createReceiver.'
      throw new CountersignError('ERR_STOPPED', message)
    }
    const { handlers, acceptance, checked, inbox, logger } = this.#parts
    handlers.freeze()
    await acceptance.start()
    if (this.#started) return
    warnOfGaps(checked.subscriptions, handlers.registered, logger, { hasInbox: inbox !== undefined })
    selfCheck({ ...checked, logger })
    this.#started = true
  }

  /**
   * Resolves once every callback whose body has been read has its outcome, and no handler runs. It does not wait for a body that is
   * still being read: await the answer, or the promise of `fetch()` or `receive()`, before. With an inbox, every entry that this
   * process has a handler for has then been handled, is dead, waits for its next attempt, or runs in another process. For tests
   * and scripts.
   */
  idle(): Promise<void> {
    return this.#parts.pipeline.idle()
  }

  /**
   * Resolves once the callback with this X-Idempotency-Key has been handled, by this process or by another one that shares the
   * inbox, or is dead, in quarantine or discarded. For tests and scripts. Without an inbox call it before the callback
   * arrives; it then resolves only when the callback has been handled.
   * @throws CountersignError ERR_WAIT_TIMEOUT, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; or the error of the inbox
   */
  waitFor(idempotencyKey: string, options: WaitForOptions = {}): Promise<FinishedCallback> {
    const { events, [INBOX]: inbox } = this
    return waitForCallback(idempotencyKey, options, { owner: 'receiver.waitFor', events, inbox })
  }

  /**
   * Accepts no more callbacks: new and unfinished requests are answered 503. Resolves once the running handlers
   * have finished. After `stopTimeoutMs` their signals are aborted, and handlers that ignore the signal are not
   * waited for. Closes the inbox, unless another receiver or worker has opened the same object. Safe to call twice.
   *
   * With `{ server, delayMs }` it does before what `countersign serve` does on SIGTERM: `ready` becomes false, callbacks are
   * accepted for another `delayMs`, and the server is closed when nothing arrives. It then resolves once the connections of the
   * server are closed, too.
   *
   * @example
   *   process.once('SIGTERM', () => receiver.stop({ server, delayMs: 15_000 }))
   *
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
   */
  stop(options: StopOptions = {}): Promise<void> {
    return (this.#stopped ??= stopWith(options, () => this.#stop()))
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(): Promise<void> {
    this.#parts.stopping.abort()
    const { pipeline, stopTimeoutMs, outcomeLog, capture, listenerErrors } = this.#parts
    try {
      await pipeline.stop(stopTimeoutMs)
    } finally {
      outcomeLog.flush()
      await capture?.end(stopTimeoutMs)
      listenerErrors.flush()
    }
  }
}
