import type { CallbackEvent, CallbackPayload, EntryId } from '../callback/callback.js'
import { checkIsFunction } from '../base/check-is-function.js'
import { CountersignError } from '../base/errors.js'
import type { PostgresTransaction } from '../inbox/postgres/guarded-transaction.js'
import type { HandlerLogger } from '../logging/handler-logger.js'
import { checkKnownOptions, integerOption, invalidOption, kindOf } from '../base/option-checks.js'
import type { Handled } from './handler-gaps.js'
import { NEEDS_SHARED_STORE, sharedStoreMissing } from './shared-store.js'

/**
 * The payload of each event type, as the application declares it. The service does not publish the full list of
 * types.
 */
export type EventMap = { readonly [eventTypeName: string]: CallbackPayload }

/**
 * Whatever events were declared. A function whose parameter is a `Receiver` takes one with declared events only with `any`: the
 * handlers of a type have its payload as a parameter.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyEvents = any

/** An event of any declared type, discriminated by its `type`. */
export type AnyEvent<Events extends object = EventMap> = {
  [Type in keyof Events & string]: CallbackEvent<Type, Events[Type]>
}[keyof Events & string]

/** What a handler is given besides the event. */
export interface HandlerContext {
  /**
   * Aborted when the handler exceeds its timeout or the receiver has to stop. Pass it to everything that can be
   * cancelled.
   */
  readonly signal: AbortSignal
  /** The number of this attempt to handle the callback, from 1, as far as the store remembers earlier ones. */
  readonly attempt: number
  /** The id of the entry in the inbox, as `inbox.show` takes it. Undefined without an inbox. */
  readonly entryId: EntryId | undefined
  /** The receiver's logger. Each line has the idempotency key and the type of the callback, the attempt and the entry. */
  readonly logger: HandlerLogger
}

/** What a handler is given that was registered with `transactional: true`. */
export interface TransactionalContext extends HandlerContext {
  /**
   * The transaction of the PostgreSQL inbox. What is written with it is committed together with the
   * end of the entry, or not at all. It must not be committed, rolled back or released, nor used after the handler has ended.
   */
  readonly transaction: PostgresTransaction
}

/** Handles an event. The event has been handled once this returns or its promise resolves. Throw to have it retried. */
export type Handler<Event = CallbackEvent, Context extends HandlerContext = HandlerContext> = (
  event: Event,
  context: Context,
) => unknown

/** Options of one registration of a handler. */
export interface HandlerOptions {
  /**
   * How long this handler may take, in milliseconds, at most 0.9 of `leaseMs`. @default the `handlerTimeoutMs` of
   * the receiver
   */
  readonly timeoutMs?: number | undefined
  /**
   * `true` needs a PostgreSQL inbox. The handler is then given `context.transaction`.
   * @default false
   */
  readonly transactional?: false | undefined
}

/** Options of a handler that runs in a transaction of the inbox in PostgreSQL. */
export interface TransactionalHandlerOptions extends Omit<HandlerOptions, 'transactional'> {
  /**
   * Runs the handler in a transaction in which the end of the entry is recorded. Both are committed or neither is. A type has at
   * most one such handler. Other handlers of the type run beside it, and the transaction is committed only if all have succeeded;
   * what the others did is not rolled back. With this option `timeoutMs` also limits the transaction.
   */
  readonly transactional: true
}

export interface RegisteredHandler {
  readonly handler: Handler
  readonly isTransactional: boolean
  readonly timeoutMs: number
  /**
   * How old a claim may be for the handler to start, in milliseconds. With an older claim too little of the lease
   * is left.
   */
  readonly maxClaimAgeMs: number
}

/** The longest timeout of a handler: a part of the lease has passed before the handler starts. */
export function longestTimeoutMs(leaseMs: number): number {
  return Math.floor(leaseMs * 0.9)
}

/** The registered handlers by event type. */
export class Handlers {
  readonly #byType = new Map<string, RegisteredHandler[]>()
  readonly #any: RegisteredHandler[] = []
  readonly #unhandled: RegisteredHandler[] = []
  readonly #defaultTimeoutMs: number
  readonly #leaseMs: number
  readonly #owner: 'receiver' | 'worker'
  readonly #hasTransactions: boolean
  /** Whether callbacks are remembered only in the memory of this process. */
  readonly lackSharedStore: boolean
  #frozen = false

  constructor(
    defaultTimeoutMs: number,
    leaseMs: number,
    owner: 'receiver' | 'worker' = 'receiver',
    { hasTransactions = false, lackSharedStore = false } = {},
  ) {
    this.#defaultTimeoutMs = defaultTimeoutMs
    this.#leaseMs = leaseMs
    this.#owner = owner
    this.#hasTransactions = hasTransactions
    this.lackSharedStore = lackSharedStore
  }

  on(type: string, handler: Handler, options?: HandlerOptions | TransactionalHandlerOptions): void {
    if (typeof type !== 'string' || type === '') {
      const cure = 'pass a name such as "transfers.book-completed"'
      const message = `on: the event type is ${type === '' ? '""' : kindOf(type)}: ${cure}.`
      throw new CountersignError('ERR_HANDLER_INVALID', message)
    }
    const where = `on(${JSON.stringify(type)})`
    const handlers = this.#byType.get(type) ?? []
    const registered = this.#register(where, handler, options)
    if (registered.isTransactional) this.#checkTransactional(where, handlers)
    handlers.push(registered)
    this.#byType.set(type, handlers)
  }

  onAny(handler: Handler, options?: HandlerOptions): void {
    this.#any.push(this.#registerForTypes('onAny', handler, options))
  }

  onUnhandled(handler: Handler, options?: HandlerOptions): void {
    this.#unhandled.push(this.#registerForTypes('onUnhandled', handler, options))
  }

  /** The handlers of the type and of any type; if there are none, the handlers of unhandled events. */
  for(type: string): readonly RegisteredHandler[] {
    const ofType = this.#byType.get(type)
    const handlers = ofType ? (this.#any.length === 0 ? ofType : [...ofType, ...this.#any]) : this.#any
    return handlers.length > 0 ? handlers : this.#unhandled
  }

  /** Whether one of the handlers of the type needs the inbox's transaction. */
  isTransactional(type: string): boolean {
    return this.#byType.get(type)?.some(({ isTransactional }) => isTransactional) ?? false
  }

  /** Whether there is a handler that needs the inbox's transaction. */
  get haveTransactional(): boolean {
    return [...this.#byType.keys()].some((type) => this.isTransactional(type))
  }

  /** The event types that have handlers. */
  get types(): readonly string[] | 'any' {
    return this.#any.length > 0 || this.#unhandled.length > 0 ? 'any' : [...this.#byType.keys()]
  }

  get isEmpty(): boolean {
    return this.#byType.size === 0 && this.#any.length === 0 && this.#unhandled.length === 0
  }

  /** What has been registered. */
  get registered(): Handled {
    return {
      types: new Set(this.#byType.keys()),
      any: this.#any.length > 0,
      unhandled: this.#unhandled.length > 0,
    }
  }

  /** A handler that is registered later would have missed callbacks without a notice. */
  freeze(): void {
    this.#frozen = true
  }

  /** For a handler of many types. It could run beside the transactional handler of a type, and one client cannot serve both. */
  #registerForTypes(where: string, handler: Handler, options?: HandlerOptions): RegisteredHandler {
    const registered = this.#register(where, handler, options)
    if (!registered.isTransactional) return registered
    throw invalidOption(where, 'transactional', true, 'register the handler with on() for each event type')
  }

  #checkTransactional(where: string, others: readonly RegisteredHandler[]): void {
    if (!this.#hasTransactions) {
      const cure =
        'there is no inbox that has transactions. Use one, such as PostgresInbox of countersign/postgres, or leave this out'
      throw invalidOption(where, 'transactional', true, cure)
    }
    if (!others.some(({ isTransactional }) => isTransactional)) return
    const message =
      `${where}: this type has a transactional handler already, and two cannot use one transaction at the same time. ` +
      'Do the work of both in one handler.'
    throw new CountersignError('ERR_HANDLER_INVALID', message)
  }

  #register(
    where: string,
    handler: Handler,
    options: HandlerOptions | TransactionalHandlerOptions = {},
  ): RegisteredHandler {
    if (this.#frozen) {
      const message = `${where}: the ${this.#owner} has started. Register handlers before start() and the first callback.`
      throw new CountersignError('ERR_STARTED', message)
    }
    checkIsFunction(`${where}: the handler`, handler)
    if (this.lackSharedStore && Reflect.get(handler, NEEDS_SHARED_STORE) === true)
      throw sharedStoreMissing(where)
    checkKnownOptions(where, options, ['timeoutMs', 'transactional'])
    const { transactional: isTransactional = false } = options
    if (typeof isTransactional !== 'boolean')
      throw invalidOption(where, 'transactional', isTransactional, 'use true or false')
    // A handler that outlives its lease could run concurrently with the handler of the next claim.
    const limits = { fallback: this.#defaultTimeoutMs, min: 1, max: longestTimeoutMs(this.#leaseMs) }
    const timeoutMs = integerOption(where, 'timeoutMs', options.timeoutMs, limits)
    return { handler, isTransactional, timeoutMs, maxClaimAgeMs: this.#leaseMs - timeoutMs }
  }
}
