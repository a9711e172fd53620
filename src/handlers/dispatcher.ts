import type { CallbackEvent, EntryId } from '../callback/callback.js'
import { isInstance } from '../base/foreign-value.js'
import { isPending, type MaybePending } from '../base/pending.js'
import type { Environment } from '../base/environment.js'
import { deadline, withTimeout } from '../base/timeout.js'
import type { PostgresTransaction } from '../inbox/postgres/guarded-transaction.js'
import type { Logger } from '../logging/logger.js'
import { Context, type Stop } from './handler-context.js'
import type { Handlers, RegisteredHandler } from './handlers.js'
import { saysKeyReused } from './key-reused.js'
import { applySchema, PayloadInvalidError } from './payload-schema.js'
import { askedDelayMs, asksForRetry } from './retry-later.js'
import type { StandardSchema } from './standard-schema.js'

export interface Failure {
  readonly code:
    | 'ERR_HANDLER_FAILED'
    | 'ERR_HANDLER_TIMEOUT'
    | 'ERR_RETRY_LATER'
    | 'ERR_PAYLOAD_INVALID'
    | 'ERR_IDEMPOTENCY_KEY_REUSED'
    | 'ERR_CLAIM_LOST'
  readonly error: unknown
  /** For how long no further attempt is to be made, in milliseconds, if a handler has said so. */
  readonly retryAfterMs?: number | undefined
}

export interface Dispatch {
  /**
   * The failure, or undefined, once every handler has finished or timed out. A timeout has precedence, so any other
   * failure means that all handlers have returned. Not a promise if the only handler returned none. Never rejects.
   */
  readonly result: MaybePending<Failure | undefined>
  /**
   * Resolves once every handler has returned. A handler that ignores its signal may return long after its timeout.
   * Until then the same callback must not be handled again. Never rejects.
   */
  readonly settled: () => Promise<unknown>
}

interface DispatcherParts {
  readonly handlers: Handlers
  readonly schemas: ReadonlyMap<string, StandardSchema>
  /** How long a schema may take, in milliseconds. */
  readonly schemaTimeoutMs: number
  readonly logger: Logger
  readonly environment: Environment
}

interface DispatchOptions {
  /** When a lease began that nobody renews, by the monotonic clock. @default none such */
  readonly claimedAt?: number | undefined
  /** Whether a lease that is renewed has ended. @default no such lease */
  readonly hasLeaseEnded?: (() => boolean) | undefined
  /** The entry of the inbox that the event is from. @default undefined: there is no inbox */
  readonly entryId?: EntryId | undefined
  /** What the transactional handler of the type is given, if there is one. */
  readonly transaction?: PostgresTransaction
}

/** Runs the handlers of events. */
export class Dispatcher {
  readonly #parts: DispatcherParts

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  /**
   * Runs the handlers of the event's type concurrently, each with its own timeout. `stop` aborts all of them. None is started if
   * it was aborted, or if the lease ended, while the payload was checked or the transaction began.
   */
  dispatch(event: CallbackEvent, attempt: number, stop: Stop, options: DispatchOptions = {}): Dispatch {
    const { schemas, schemaTimeoutMs, environment } = this.#parts
    const schema = schemas.get(event.type)
    if (!schema) return this.#run(event, attempt, stop, options)
    const applying = applySchema(event, schema)
    const dispatched = withTimeout(applying, schemaTimeoutMs, 'the payload schema', { environment }).then(
      (applied) => this.#run(applied, attempt, stop, options),
      schemaFailure,
    )
    return {
      result: dispatched.then(({ result }) => result),
      settled: () => dispatched.then(({ settled }) => settled()),
    }
  }

  /** How long a dispatch of this type takes at most, in milliseconds, until its result is there. */
  limitMs(type: string): number {
    const { handlers, schemas, schemaTimeoutMs } = this.#parts
    const longestMs = Math.max(...handlers.for(type).map(({ timeoutMs }) => timeoutMs))
    return longestMs + (schemas.has(type) ? schemaTimeoutMs : 0)
  }

  #run(
    event: CallbackEvent,
    attempt: number,
    stop: Stop,
    { claimedAt = Infinity, hasLeaseEnded, entryId, transaction }: DispatchOptions,
  ): Dispatch {
    const { handlers, schemas, logger, environment } = this.#parts
    // The handlers may have been aborted while the payload was checked or the transaction began. For other events the signal is not
    // read, because reading it creates it. If the process was paused, no timer has aborted them, and another worker may have the entry.
    const mayBeLate = schemas.has(event.type) || transaction !== undefined
    if (mayBeLate && (stop.signal.aborted || hasLeaseEnded?.()))
      return { result: { code: 'ERR_CLAIM_LOST', error: stop.signal.reason }, settled: RETURNED }
    const start = (registered: RegisteredHandler): Dispatch => {
      const context = new Context(event, attempt, logger, stop, {
        entryId,
        lacksSharedStore: handlers.lackSharedStore,
        transaction: registered.isTransactional ? transaction : undefined,
      })
      return run(registered, event, context, { claimedAt, environment })
    }
    const registered = handlers.for(event.type)
    if (registered.length === 1) return start(registered[0]!)
    const runs = registered.map(start)
    return {
      result: Promise.all(runs.map(async ({ result }) => result)).then(mostSevere),
      settled: () => Promise.all(runs.map(({ settled }) => settled())),
    }
  }
}

const RETURNED = () => Promise.resolve()

/** A handler that throws behaves like one that rejects. */
function run(
  { handler, timeoutMs, maxClaimAgeMs }: RegisteredHandler,
  event: CallbackEvent,
  context: Context,
  { claimedAt, environment }: { readonly claimedAt: number; readonly environment: Environment },
): Dispatch {
  try {
    if (environment.monotonic() - claimedAt > maxClaimAgeMs) throw new LeaseTooShortError(timeoutMs)
    const returned = handler(event, context)
    if (isPending(returned)) {
      const promise = Promise.resolve(returned)
      const settled = () => promise.catch(() => {})
      return { result: outcomeWithin(promise, timeoutMs, context, environment), settled }
    }
    context.close()
    return { result: undefined, settled: RETURNED }
  } catch (error) {
    context.close()
    return { result: failureOf(error, environment), settled: RETURNED }
  }
}

function schemaFailure(error: unknown): Dispatch {
  const code = isInstance(error, PayloadInvalidError) ? 'ERR_PAYLOAD_INVALID' : 'ERR_HANDLER_FAILED'
  return { result: Promise.resolve({ code, error }), settled: RETURNED }
}

/** All handlers run again at the next attempt, so the longest delay that one of them asks for counts. */
function mostSevere(results: readonly (Failure | undefined)[]): Failure | undefined {
  const failure = results.find((result) => result?.code === 'ERR_HANDLER_TIMEOUT') ?? results.find(Boolean)
  const asked = results.flatMap((result) => result?.retryAfterMs ?? [])
  return failure && asked.length > 0 ? { ...failure, retryAfterMs: Math.max(...asked) } : failure
}

function outcomeWithin(
  returned: Promise<unknown>,
  timeoutMs: number,
  context: Context,
  environment: Environment,
): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    const onLate = () => {
      const error = new Error(`the handler took longer than ${timeoutMs} ms`)
      context.abort(error)
      resolve({ code: 'ERR_HANDLER_TIMEOUT', error })
    }
    const cancel = deadline(timeoutMs, onLate, { environment })
    returned.then(
      () => finish(undefined),
      (error: unknown) => finish(failureOf(error, environment)),
    )
    function finish(failure: Failure | undefined): void {
      cancel()
      context.close()
      resolve(failure)
    }
  })
}

function failureOf(error: unknown, environment: Environment): Failure {
  return { code: failureCode(error), error, retryAfterMs: askedDelayMs(error, environment.now()) }
}

function failureCode(error: unknown) {
  if (isInstance(error, LeaseTooShortError)) return 'ERR_CLAIM_LOST'
  if (saysKeyReused(error)) return 'ERR_IDEMPOTENCY_KEY_REUSED'
  return asksForRetry(error) ? 'ERR_RETRY_LATER' : 'ERR_HANDLER_FAILED'
}

/** The process may have been busy since the callback was claimed, or its store or schema took long. */
class LeaseTooShortError extends Error {
  constructor(timeoutMs: number) {
    super(`the handler was not started: less of the lease is left than its timeout of ${timeoutMs} ms`)
  }
}
