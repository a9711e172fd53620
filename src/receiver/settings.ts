import type { Tolerance } from '../callback/authenticate.js'
import {
  AUTHENTICATOR_OPTIONS,
  parseAuthenticatorOptions,
  type AuthenticatorOptions,
} from '../callback/authenticator.js'
import type { Subscriptions } from '../callback/subscriptions.js'
import { longestTimeoutMs, type AnyEvent, type EventMap } from '../handlers/handlers.js'
import type { StandardSchema } from '../handlers/standard-schema.js'
import { OutcomeLog, type OutcomeLogOptions } from '../http/log-outcome.js'
import { BODY_LIMIT_OPTIONS, bodyLimits, type BodyLimitOptions } from '../http/raw-body.js'
import { MemoryIdempotencyStore } from '../idempotency/memory-store.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import type { OrderBy } from './durable-acceptance.js'
import type { Inbox } from '../inbox/inbox.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import { loggerOption, type Logger } from '../logging/logger.js'
import {
  checkKnownOptions,
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
  objectOption,
} from '../base/option-checks.js'

export interface ReceiverOptions<Events extends object = EventMap>
  extends AuthenticatorOptions, BodyLimitOptions, OutcomeLogOptions {
  /**
   * How long a handler may take, in milliseconds, before its signal is aborted and the sender is answered 500.
   * @default 10_000
   */
  readonly handlerTimeoutMs?: number | undefined
  /**
   * How long a callback stays claimed when whoever claimed it neither finishes nor gives it back, in milliseconds: a
   * process that died blocks its callback this long. A handler's time-out is at most nine tenths of it. @default 60_000
   */
  readonly leaseMs?: number | undefined
  /** How long `stop()` waits for running handlers before it aborts them, in milliseconds. @default 10_000 */
  readonly stopTimeoutMs?: number | undefined
  /**
   * Remembers which callbacks were handled; at least `toleranceMs` plus `futureToleranceMs` long.
   * @default a MemoryIdempotencyStore: one process, gone with it
   */
  readonly store?: IdempotencyStore | undefined
  /**
   * Holds callbacks durably: they are answered once they are stored, and handled, retried and kept from then on here. A
   * receiver with an inbox must be started with `start()`, and takes no `store`.
   * @default none: handlers run before the answer
   */
  readonly inbox?: Inbox | undefined
  /** With an inbox: events for which it returns the same text are handled one after the other. @default no order */
  readonly orderBy?: OrderBy<AnyEvent<Events>> | undefined
  /** With an inbox: how many events are handled at a time. @default 10 */
  readonly concurrency?: number | undefined
  /** With an inbox: an event whose handling has begun so often becomes a dead letter. @default 25, which takes about 14 hours */
  readonly maxAttempts?: number | undefined
  /** With an inbox: the delay before the second attempt, in milliseconds; it doubles each time. @default 1_000 */
  readonly retryDelayMs?: number | undefined
  /** With an inbox: the longest delay between attempts, in milliseconds. @default 3_600_000 (1 hour) */
  readonly maxRetryDelayMs?: number | undefined
  /**
   * With an inbox: how often to look for work that did not come through this process, in milliseconds. A retry does not
   * wait for it. @default 1_000
   */
  readonly pollMs?: number | undefined
  /** By event type, a schema of any Standard Schema library (zod, valibot, arktype) that a payload must fit. */
  readonly schemas?:
    { readonly [Type in keyof Events]?: StandardSchema<Events[Type]> | undefined } | undefined
  /** pino, console, or alike; `false` for none. @default warnings and errors go to standard error */
  readonly logger?: Logger | false | undefined
}

const INBOX_OPTIONS = [
  'inbox',
  'orderBy',
  'concurrency',
  'maxAttempts',
  'retryDelayMs',
  'maxRetryDelayMs',
  'pollMs',
] as const satisfies readonly (keyof ReceiverOptions)[]

export const RECEIVER_OPTIONS = [
  ...AUTHENTICATOR_OPTIONS,
  ...BODY_LIMIT_OPTIONS,
  'handlerTimeoutMs',
  'leaseMs',
  'stopTimeoutMs',
  'store',
  ...INBOX_OPTIONS,
  'schemas',
  'logger',
  'logRefusalsPerSecond',
] as const satisfies readonly (keyof ReceiverOptions)[]

// Fails to compile when an option is missing from the list.
type Forgotten = Exclude<keyof ReceiverOptions, (typeof RECEIVER_OPTIONS)[number]>
const complete: Forgotten extends never ? true : Forgotten = true
void complete

const OWNER = 'createReceiver'

/** `ReceiverOptions`, checked and with defaults. */
export type ReceiverSettings = ReturnType<typeof parseReceiverOptions>

/**
 * The only place where the options of a receiver are read. `secrets` are further ones that must not stand in a log line or
 * in a stored reason; those of the subscriptions are added to them.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function parseReceiverOptions<Events extends object>(
  options: ReceiverOptions<Events>,
  secrets = new KnownSecrets(),
) {
  checkKnownOptions(OWNER, options, RECEIVER_OPTIONS)
  const leaseMs = durationOption(OWNER, 'leaseMs', options.leaseMs, 60_000)
  const handlerTimeoutMs = durationOption(OWNER, 'handlerTimeoutMs', options.handlerTimeoutMs, 10_000)
  if (handlerTimeoutMs > longestTimeoutMs(leaseMs)) {
    const cure = `stay within nine tenths of leaseMs (${leaseMs}), or raise that: a handler that outlives its lease may run twice at once`
    throw invalidOption(OWNER, 'handlerTimeoutMs', handlerTimeoutMs, cure)
  }
  const logger = loggerOption(OWNER, options.logger, secrets)
  const limits = bodyLimits(OWNER, options)
  const authentication = parseAuthenticatorOptions(OWNER, options, logger, secrets)
  const durable = inboxOption(options, authentication)
  return {
    limits,
    authentication,
    subscribedTypes: subscribedTypes(options.subscriptions),
    handlerTimeoutMs,
    leaseMs,
    stopTimeoutMs: durationOption(OWNER, 'stopTimeoutMs', options.stopTimeoutMs, 10_000),
    schemas: schemasOption(options.schemas ?? {}),
    acceptance: durable ?? {
      store: storeOption(options.store, authentication, { ...authentication, logger }),
    },
    logger,
    outcomeLog: new OutcomeLog(OWNER, logger, options),
    secrets,
  }
}

/** Undefined where a function finds the subscriptions. */
function subscribedTypes(subscriptions: Subscriptions): readonly string[] | undefined {
  if (typeof subscriptions === 'function') return undefined
  return subscriptions.map(({ eventTypeName }) => eventTypeName)
}

/** Undefined without an inbox, where none of these options may be given. */
function inboxOption<Events extends object>(options: ReceiverOptions<Events>, tolerance: Tolerance) {
  const { inbox } = options
  if (inbox === undefined) {
    const stray = INBOX_OPTIONS.find((name) => options[name] !== undefined)
    if (stray)
      throw invalidOption(OWNER, stray, options[stray], 'it has no effect without an inbox: leave it out')
    return undefined
  }
  objectOption(OWNER, 'inbox', inbox, inbox, ['open', 'add', 'claim', 'extend', 'finish', 'close'])
  if (options.store)
    throw invalidOption(OWNER, 'store', options.store, 'it has no effect with an inbox: leave it out')
  checkRetention('inbox', inbox.retentionMs, tolerance)
  const { concurrency, maxAttempts } = options
  return {
    inbox,
    orderBy:
      options.orderBy === undefined
        ? undefined
        : functionOption(OWNER, 'orderBy', options.orderBy, options.orderBy),
    concurrency: integerOption(OWNER, 'concurrency', concurrency, { fallback: 10, min: 1, max: 10_000 }),
    maxAttempts: integerOption(OWNER, 'maxAttempts', maxAttempts, { fallback: 25, min: 1 }),
    retryDelayMs: durationOption(OWNER, 'retryDelayMs', options.retryDelayMs, 1_000),
    maxRetryDelayMs: durationOption(OWNER, 'maxRetryDelayMs', options.maxRetryDelayMs, 3_600_000),
    pollMs: durationOption(OWNER, 'pollMs', options.pollMs, 1_000),
  }
}

function storeOption(
  store: IdempotencyStore | undefined,
  tolerance: Tolerance,
  fallback: { clock: () => number; logger: Logger },
): IdempotencyStore {
  if (!store) {
    // A little longer than a callback is accepted: the store looks at its clock after the signature was checked.
    const retentionMs = tolerance.toleranceMs + tolerance.futureToleranceMs + 60_000
    // The store has a better one than the default of the receiver, which must tell the time of day.
    const clock = fallback.clock === Date.now ? undefined : fallback.clock
    return new MemoryIdempotencyStore({ retentionMs, logger: fallback.logger, clock })
  }
  objectOption(OWNER, 'store', store, store, ['claim'])
  checkRetention('store', store.retentionMs, tolerance)
  return store
}

/** What is still accepted must still be remembered, or it could be handled a second time. */
function checkRetention(what: 'store' | 'inbox', retentionMs: number, tolerance: Tolerance): void {
  const neededMs = tolerance.toleranceMs + tolerance.futureToleranceMs
  if (retentionMs >= neededMs) return
  const cure =
    `the ${what} remembers for ${retentionMs} ms, less than toleranceMs plus futureToleranceMs (${neededMs}): ` +
    'raise its retentionMs, or lower toleranceMs'
  throw invalidOption(OWNER, 'toleranceMs', tolerance.toleranceMs, cure)
}

function schemasOption(schemas: object): ReadonlyMap<string, StandardSchema> {
  if (typeof schemas !== 'object') {
    throw invalidOption(OWNER, 'schemas', schemas, 'pass an object of Standard Schemas by event type')
  }
  const byType = new Map<string, StandardSchema>()
  for (const [type, schema] of Object.entries(schemas) as [string, StandardSchema | undefined][]) {
    if (schema === undefined) continue
    if (typeof schema?.['~standard']?.validate !== 'function') {
      const name = { option: 'schemas', part: `schemas[${JSON.stringify(type)}]` }
      throw invalidOption(OWNER, name, schema, 'pass a Standard Schema (zod, valibot, arktype)')
    }
    byType.set(type, schema)
  }
  return byType
}
