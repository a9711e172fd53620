import type { CallbackEvent, CallbackPayload } from '../callback/callback.js'
import { CountersignError } from '../base/errors.js'
import type { Logger } from '../logging/logger.js'
import { checkKnownOptions, integerOption } from '../base/option-checks.js'

/** The payload of each event type, as the user declares it. The full list of types is not published. */
export type EventMap = { readonly [eventTypeName: string]: CallbackPayload }

/** An event of any declared type, told apart by its `type`. */
export type AnyEvent<Events extends object> = {
  [Type in keyof Events & string]: CallbackEvent<Type, Events[Type]>
}[keyof Events & string]

export interface HandlerContext {
  /** Aborted when the handler's time is up or the receiver has to stop. Hand it to whatever can be cancelled. */
  readonly signal: AbortSignal
  /** How often handling this callback has been tried, this time included, as far as the store remembers; from 1. */
  readonly attempt: number
  /** The receiver's logger, with the callback's key and type on every line. */
  readonly logger: Logger
}

/** Handles an event. It has been handled once this returns or its promise resolves; to throw is to have it retried. */
export type Handler<Event = CallbackEvent> = (event: Event, context: HandlerContext) => unknown

export interface HandlerOptions {
  /** How long this handler may take, in milliseconds. @default the receiver's `handlerTimeoutMs` */
  readonly timeoutMs?: number | undefined
}

interface RegisteredHandler {
  readonly handler: Handler
  readonly timeoutMs: number
  /** How old a claim may be for it to begin, in milliseconds: it would have too little of the lease left. */
  readonly maxClaimAgeMs: number
}

/** The longest time-out of a handler: some of the lease goes by before it begins. */
export function longestTimeoutMs(leaseMs: number): number {
  return Math.floor(leaseMs * 0.9)
}

export function checkIsFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new CountersignError('ERR_HANDLER_INVALID', `${what} must be a function.`)
}

/** Which handlers there are for an event type. */
export class Handlers {
  readonly #byType = new Map<string, RegisteredHandler[]>()
  readonly #any: RegisteredHandler[] = []
  readonly #unhandled: RegisteredHandler[] = []
  readonly #defaultTimeoutMs: number
  readonly #leaseMs: number
  readonly #owner: 'receiver' | 'worker'
  #frozen = false

  constructor(defaultTimeoutMs: number, leaseMs: number, owner: 'receiver' | 'worker' = 'receiver') {
    this.#defaultTimeoutMs = defaultTimeoutMs
    this.#leaseMs = leaseMs
    this.#owner = owner
  }

  on(type: string, handler: Handler, options?: HandlerOptions): void {
    if (typeof type !== 'string' || type === '') {
      throw new CountersignError('ERR_HANDLER_INVALID', 'on: the event type must be a non-empty string.')
    }
    const handlers = this.#byType.get(type) ?? []
    handlers.push(this.#register(`on(${JSON.stringify(type)})`, handler, options))
    this.#byType.set(type, handlers)
  }

  onAny(handler: Handler, options?: HandlerOptions): void {
    this.#any.push(this.#register('onAny', handler, options))
  }

  onUnhandled(handler: Handler, options?: HandlerOptions): void {
    this.#unhandled.push(this.#register('onUnhandled', handler, options))
  }

  /** Those of the type and those of any type; where there are none, those of the unhandled. */
  for(type: string): readonly RegisteredHandler[] {
    const ofType = this.#byType.get(type)
    const handlers = ofType ? (this.#any.length === 0 ? ofType : [...ofType, ...this.#any]) : this.#any
    return handlers.length > 0 ? handlers : this.#unhandled
  }

  /** The types that there are handlers for. */
  get types(): readonly string[] | 'any' {
    return this.#any.length > 0 || this.#unhandled.length > 0 ? 'any' : [...this.#byType.keys()]
  }

  get isEmpty(): boolean {
    return this.#byType.size === 0 && this.#any.length === 0 && this.#unhandled.length === 0
  }

  /** What has been registered. */
  get registered(): { types: ReadonlySet<string>; any: boolean; unhandled: boolean } {
    return {
      types: new Set(this.#byType.keys()),
      any: this.#any.length > 0,
      unhandled: this.#unhandled.length > 0,
    }
  }

  /** A handler that came later would have missed callbacks, and nobody would know. */
  freeze(): void {
    this.#frozen = true
  }

  #register(where: string, handler: Handler, options: HandlerOptions = {}): RegisteredHandler {
    if (this.#frozen) {
      const message = `${where}: the ${this.#owner} has started. Register handlers before start() and the first callback.`
      throw new CountersignError(
        this.#owner === 'receiver' ? 'ERR_RECEIVER_STARTED' : 'ERR_WORKER_STARTED',
        message,
      )
    }
    checkIsFunction(`${where}: the handler`, handler)
    checkKnownOptions(where, options, ['timeoutMs'])
    // A handler that outlives its lease could run beside the one that takes over.
    const limits = { fallback: this.#defaultTimeoutMs, min: 1, max: longestTimeoutMs(this.#leaseMs) }
    const timeoutMs = integerOption(where, 'timeoutMs', options.timeoutMs, limits)
    return { handler, timeoutMs, maxClaimAgeMs: this.#leaseMs - timeoutMs }
  }
}
