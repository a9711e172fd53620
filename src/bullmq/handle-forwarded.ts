import type { CallbackEvent } from '../callback/callback.js'
import { CountersignError } from '../base/errors.js'
import { isErrorLike } from '../base/foreign-value.js'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, invalidOption, isRecord, kindOf } from '../base/option-checks.js'
import { Dispatcher } from '../handlers/dispatcher.js'
import { forbidsRetry } from '../handlers/do-not-retry.js'
import { Handlers, type EventMap, type Handler, type HandlerContext } from '../handlers/handlers.js'
import { parseHandlingOptions, type HandlingOptions } from '../handlers/handling-options.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { forwardedEvent } from './forwarded-callback.js'
import { messageOf } from './job-queue.js'

/** A handler for each event type, as `receiver.on` takes them. */
export type ForwardedHandlers<Events extends object = EventMap> = {
  readonly [Type in keyof Events & string]?:
    HandlerOf<CallbackEvent<Type, Events[Type]>>['handle'] | undefined
}

/** A method, because TypeScript compares its parameters in both directions: a handler of one event type can be given. */
interface HandlerOf<Event> {
  handle(event: Event, context: HandlerContext): unknown
}

/** `handlerTimeoutMs`, `schemas` and `logger` are those of a receiver. */
export type HandleForwardedOptions<Events extends object = EventMap> = Pick<
  HandlingOptions<Events>,
  'handlerTimeoutMs' | 'schemas' | 'logger'
>

const OPTIONS = [
  'handlerTimeoutMs',
  'schemas',
  'logger',
] as const satisfies readonly (keyof HandleForwardedOptions)[]
void (true satisfies HasAll<keyof HandleForwardedOptions, typeof OPTIONS>)
const OWNER = 'handleForwarded'

/** What is used of a job. */
export interface ForwardedJob {
  readonly data: unknown
  /** How many attempts have failed. */
  readonly attemptsMade: number
}

/**
 * A processor for a BullMQ `Worker` that runs the handlers of a receiver on what `forwardTo` added: with the same event, the
 * same context, the same timeout and the same schemas. What a handler throws fails the job, and BullMQ retries it by the
 * job's `attempts`. After `DoNotRetryError` it does not. A handler whose time is up keeps its job until it returns, so that
 * it never runs twice at once.
 * @throws CountersignError ERR_HANDLER_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function handleForwarded<Events extends object = EventMap>(
  handlers: ForwardedHandlers<NoInfer<Events>>,
  options: HandleForwardedOptions<Events> = {},
): (job: ForwardedJob, token?: string, signal?: AbortSignal) => Promise<void> {
  if (!isRecord(handlers)) {
    const cure = 'pass an object of functions by event type'
    throw invalidOption(OWNER, 'handlers', handlers, cure, kindOf(handlers))
  }
  checkKnownOptions(OWNER, options, OPTIONS)
  const leaseMs = NO_LEASE_MS
  const settings = parseHandlingOptions<Events>(OWNER, { ...options, leaseMs }, new KnownSecrets())
  const { handlerTimeoutMs, schemas, logger, environment } = settings
  const registered = new Handlers(handlerTimeoutMs, leaseMs, 'worker')
  for (const [type, handler] of Object.entries(handlers)) registered.on(type, handler as Handler)
  const dispatcher = new Dispatcher({
    handlers: registered,
    schemas,
    schemaTimeoutMs: handlerTimeoutMs,
    logger,
    environment,
  })
  // Three parameters without a default: BullMQ counts them to decide whether to create a signal.
  return async (job, _token, signal) => {
    const event: CallbackEvent = forwardedEvent(job)
    if (registered.for(event.type).length === 0) throw missing(event.type)
    const stop = signal ? { signal } : new AbortController()
    const { result, settled } = dispatcher.dispatch(event, job.attemptsMade + 1, stop)
    const failure = await result
    if (!failure) return
    await settled()
    const isFinal = failure.code === 'ERR_PAYLOAD_INVALID' || forbidsRetry(failure.error)
    throw failedWith(failure.error, isFinal)
  }
}

/** BullMQ renews the lock of a job while its processor runs, so no lease limits a handler. */
const NO_LEASE_MS = 2 ** 31 - 1

function missing(type: string): CountersignError {
  const message = `no handler for ${JSON.stringify(type)}: pass one to handleForwarded, and try the job again`
  return new CountersignError('ERR_HANDLER_MISSING', message)
}

/** The error itself if possible: BullMQ has errors of its own that a handler may throw, such as `RateLimitError`. */
function failedWith(error: unknown, isFinal: boolean): Error {
  if (!isFinal && isErrorLike(error)) return error as Error
  const failure = new Error(messageOf(error), { cause: error })
  // By this name BullMQ recognises an error after which a job is not tried again.
  if (isFinal) failure.name = 'UnrecoverableError'
  return failure
}
