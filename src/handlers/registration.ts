import { bindMethods } from '../base/bind-methods.js'
import { checkIsFunction } from '../base/check-is-function.js'
import type { CallbackEvent } from '../callback/callback.js'
import { attemptOutcome, OUTCOMES, type Outcome } from '../callback/outcomes.js'
import type { EventChannel, ReceiverEvents, LifecycleListener } from '../events/event-channel.js'
import type { AttemptEvent, DeadEvent, FailedEvent, LifecycleEventName } from '../events/lifecycle-events.js'
import type {
  AnyEvent,
  AnyEvents,
  Handler,
  HandlerOptions,
  Handlers,
  TransactionalContext,
  TransactionalHandlerOptions,
} from './handlers.js'
import { CountersignError } from '../base/errors.js'

/** Where a receiver and a worker have what was registered, for the command line. */
export const HANDLERS: unique symbol = Symbol.for('countersign.handlers')

/**
 * What a receiver and a worker have in common: the registration of handlers and listeners. Its methods may be passed on without
 * it, as `({ on }) => on(...)` does.
 */
export abstract class Registration<Events extends object = AnyEvents> {
  /** Reports what happens to callbacks: `events.on('failed', (event) => ...)`. */
  readonly events: ReceiverEvents
  readonly #handlers: Handlers
  readonly #channel: EventChannel

  protected constructor(handlers: Handlers, channel: EventChannel) {
    this.events = channel
    this.#handlers = handlers
    this.#channel = channel
    bindMethods(this, METHODS)
  }

  /** For the command line. It is not a part of the public interface. */
  get [HANDLERS](): Handlers {
    return this.#handlers
  }

  /**
   * Registers a handler for an event type. Several handlers of one type run concurrently. The callback has been
   * handled when all have finished. With `{ transactional: true }` the handler is given `context.transaction`, and what it
   * writes with it is committed together with the record that the callback was handled, or not at all.
   * @throws CountersignError ERR_HANDLER_INVALID, ERR_OPTION_INVALID; after the start or the first callback
   * ERR_STARTED
   */
  on<Type extends keyof Events & string>(
    type: Type,
    handler: Handler<CallbackEvent<Type, Events[Type]>, TransactionalContext>,
    options: TransactionalHandlerOptions,
  ): this
  on<Type extends keyof Events & string>(
    type: Type,
    handler: Handler<CallbackEvent<Type, Events[Type]>>,
    options?: HandlerOptions,
  ): this
  on(type: string, handler: unknown, options?: HandlerOptions | TransactionalHandlerOptions): this {
    this.#handlers.on(type, handler as Handler, options)
    return this
  }

  /** Registers a handler for every event, in addition to the handlers of its type. */
  onAny(handler: Handler<AnyEvent<Events>>, options?: HandlerOptions): this {
    this.#handlers.onAny(handler as unknown as Handler, options)
    return this
  }

  /** Registers a handler for events that have no other. Without it and without an inbox they are answered 500. */
  onUnhandled(handler: Handler<CallbackEvent>, options?: HandlerOptions): this {
    this.#handlers.onUnhandled(handler, options)
    return this
  }

  /**
   * Calls the listener for each error that kept a callback from being handled, with the outcome of the callback.
   * For an attempt that failed after the callback was stored, `outcome.status` is the 200 of its answer, and
   * `outcome.entryId` and `outcome.attempt` are set. It is not called for unauthenticated requests, unless a
   * dependency failed, such as the subscriptions function.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onError(listener: (error: unknown, outcome: Outcome) => void): this {
    checkIsFunction('onError: the listener', listener)
    subscribeToErrors(this.#channel, listener)
    return this
  }

  /**
   * Calls the listener for each callback that has been handled, once that is recorded.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onHandled(listener: (event: AttemptEvent) => void): this {
    return this.subscribe('onHandled', 'handled', listener)
  }

  /**
   * Calls the listener for each entry that became a dead letter: its handlers are not called again until an
   * operator retries it.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onDeadLetter(listener: (event: DeadEvent) => void): this {
    return this.subscribe('onDeadLetter', 'dead', listener)
  }

  /**
   * Calls the listener after each attempt that failed, if there can be another one. With an inbox `event.retryInMs` says when it is
   * due. Without an inbox it is undefined, because only the sender repeats a callback.
   * @throws CountersignError ERR_HANDLER_INVALID
   */
  onFailed(listener: (event: FailedEvent) => void): this {
    return this.subscribe('onFailed', 'failed', listener)
  }

  protected subscribe<Name extends LifecycleEventName>(
    method: string,
    name: Name,
    listener: LifecycleListener<Name>,
  ): this {
    checkIsFunction(`${method}: the listener`, listener)
    this.#channel.on(name, listener)
    return this
  }
}

/** The methods that a function in the configuration of `countersign serve` gets. A worker lacks two of them. */
const METHODS = [
  'on',
  'onAny',
  'onUnhandled',
  'onError',
  'onOutcome',
  'onHandled',
  'onFailed',
  'onDeadLetter',
  'onQuarantined',
]

type ErrorListener = (error: unknown, outcome: Outcome) => void

/** Calls `listener` for each error that kept a callback from being handled. */
function subscribeToErrors(events: EventChannel, listener: ErrorListener): void {
  events.on('answered', ({ outcome }) => {
    if (outcome.name !== 'failed' && outcome.name !== 'unavailable') return undefined
    // Listeners raise alarms. An unauthenticated sender must not be able to raise one.
    if (!outcome.callback && outcome.error === undefined) return undefined
    return listener(outcome.error ?? new CountersignError(outcome.code, outcome.reason), outcome)
  })
  const reportAttempt = ({ code, error, reason, entryId, ...event }: FailedAttempt) => {
    // Without an inbox the answer reports the failure.
    if (entryId === undefined) return undefined
    return listener(
      error ?? new CountersignError(code, reason),
      attemptOutcome(code, { ...event, entryId }, error),
    )
  }
  events.on('failed', (event) => reportAttempt({ ...event, reason: OUTCOMES[event.code].reason }))
  events.on('dead', reportAttempt)
}

type FailedAttempt = Pick<FailedEvent, 'code' | 'error' | 'entryId' | 'callback' | 'attempt'> & {
  readonly reason: string
}
