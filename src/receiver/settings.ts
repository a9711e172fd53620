import { captureOption, type CaptureOptions } from '../capture/capture-options.js'
import type { Tolerance } from '../callback/authenticate.js'
import {
  AUTHENTICATOR_OPTIONS,
  parseAuthenticatorOptions,
  type AuthenticatorOptions,
} from '../callback/authenticator.js'
import type { PreparedSubscription } from '../callback/prepared-subscription.js'
import type { SubscriptionLookup, Subscriptions } from '../callback/subscriptions.js'
import { checkRetention } from '../callback/tolerance.js'
import type { AnyEvent, EventMap } from '../handlers/handlers.js'
import { HANDLING_OPTIONS, parseHandlingOptions, type HandlingOptions } from '../handlers/handling-options.js'
import { logRefusalsOption, type OutcomeLogOptions } from '../http/log-outcome.js'
import { BODY_LIMIT_OPTIONS, bodyLimits, type BodyLimitOptions } from '../http/body-limits.js'
import { MemoryIdempotencyStore } from '../idempotency/memory-store.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import type { OrderBy } from './durable-acceptance.js'
import { inboxOption, isInbox, type Inbox } from '../inbox/inbox.js'
import { MemoryInbox } from '../inbox/memory-inbox.js'
import { EMPTYING_OPTIONS, parseEmptyingOptions, type EmptyingOptions } from '../worker/worker-options.js'
import { KnownSecrets } from '../logging/known-secrets.js'
import type { Logger } from '../logging/logger.js'
import type { HasAll } from '../base/has-all.js'
import type { Environment } from '../base/environment.js'
import { checkKnownOptions, functionOption, invalidOption, objectOption } from '../base/option-checks.js'

/** Options of `createReceiver`. */
export interface ReceiverOptions<Events extends object = EventMap>
  extends
    AuthenticatorOptions,
    BodyLimitOptions,
    OutcomeLogOptions,
    HandlingOptions<Events>,
    EmptyingOptions {
  /**
   * Remembers which callbacks were handled, for at least `toleranceMs` plus `futureToleranceMs`.
   * @default a MemoryIdempotencyStore: for one process, lost when it ends
   */
  readonly store?: IdempotencyStore | undefined
  /**
   * Stores callbacks durably. A callback is answered 200 once it is stored, and is then handled and retried by this
   * receiver. A receiver with an inbox must be started with `start()`, and takes no `store`. Without handlers it
   * only stores, and another process handles: see `createWorker`.
   * @default none: handlers run before the answer
   */
  readonly inbox?: Inbox | undefined
  /**
   * Explains why signatures do not match. After the answer to a refused callback, `explainCallback` searches for the
   * likely mistake, and the log line of the next refusal has `cause` and `cure`. For all senders
   * together it takes at most one callback in 10 seconds, and 200 ms of processor time a minute. `false` switches it off.
   * @default true
   */
  readonly diagnosis?: boolean | undefined
  /**
   * Writes refused requests, or all, to a folder: bounded in number and bytes, and without signatures. `countersign
   * explain` reads the files. @default nothing is written
   */
  readonly capture?: CaptureOptions | undefined
  /** With an inbox: events for which it returns the same text are handled one after the other. @default no order */
  readonly orderBy?: OrderBy<AnyEvent<Events>> | undefined
  /**
   * Whether the probes of `countersign doctor` are answered with a report of what arrived. A probe is signed with a secret of a
   * subscription. Whoever has that secret can forge callbacks, so the report reveals nothing of more value. At most 120 requests a
   * minute are examined. @default true
   */
  readonly probes?: boolean | undefined
}

const INBOX_OPTIONS = [
  'inbox',
  'orderBy',
  ...EMPTYING_OPTIONS,
] as const satisfies readonly (keyof ReceiverOptions)[]

export const RECEIVER_OPTIONS = [
  ...AUTHENTICATOR_OPTIONS,
  ...BODY_LIMIT_OPTIONS,
  ...HANDLING_OPTIONS,
  'store',
  ...INBOX_OPTIONS,
  'logRefusalsPerSecond',
  'diagnosis',
  'capture',
  'probes',
] as const satisfies readonly (keyof ReceiverOptions)[]
void (true satisfies HasAll<keyof ReceiverOptions, typeof RECEIVER_OPTIONS>)

const OWNER = 'createReceiver'

/** `ReceiverOptions`, checked and with defaults. */
export type ReceiverSettings = ReturnType<typeof parseReceiverOptions>

/**
 * The only place that reads the options of a receiver. `secrets` may hold further secrets that no log line and no
 * stored reason may contain; those of the subscriptions are added to it.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function parseReceiverOptions<Events extends object>(
  options: ReceiverOptions<Events>,
  secrets = new KnownSecrets(),
) {
  checkKnownOptions(OWNER, options, RECEIVER_OPTIONS)
  const handling = parseHandlingOptions(OWNER, options, secrets)
  const { logger } = handling
  const limits = bodyLimits(OWNER, options)
  const authentication = parseAuthenticatorOptions(OWNER, options, logger, secrets)
  const durable = durableOptions(options, authentication)
  const acceptance = durable ?? {
    store: storeOption(options.store, authentication, { ...authentication, logger }),
  }
  return {
    ...handling,
    limits,
    authentication,
    acceptance,
    checked: {
      subscriptions: listedSubscriptions(options.subscriptions, authentication.subscriptions),
      inMemory:
        'store' in acceptance
          ? acceptance.store instanceof MemoryIdempotencyStore
          : acceptance.inbox instanceof MemoryInbox,
    },
    logRefusalsPerSecond: logRefusalsOption(OWNER, options),
    diagnosis: booleanOption('diagnosis', options.diagnosis),
    capture: captureOption(OWNER, options.capture),
    probes: booleanOption('probes', options.probes),
    secrets,
  }
}

function booleanOption(option: 'diagnosis' | 'probes', value = true): boolean {
  if (typeof value === 'boolean') return value
  throw invalidOption(OWNER, option, value, 'use true or false')
}

/** Undefined if a function returns the subscriptions. */
function listedSubscriptions(
  subscriptions: Subscriptions,
  lookup: SubscriptionLookup,
): readonly PreparedSubscription[] | undefined {
  if (typeof subscriptions === 'function') return undefined
  // For a list the lookup is synchronous and ignores the hints.
  return lookup({ eventType: undefined, path: '/' }) as readonly PreparedSubscription[]
}

/** Undefined without an inbox, in which case none of these options may be given. */
function durableOptions<Events extends object>(options: ReceiverOptions<Events>, tolerance: Tolerance) {
  if (options.inbox === undefined) {
    const stray = INBOX_OPTIONS.find((name) => options[name] !== undefined)
    if (stray)
      throw invalidOption(OWNER, stray, options[stray], 'it has no effect without an inbox: leave it out')
    return undefined
  }
  const inbox = inboxOption(OWNER, options.inbox)
  if (options.store)
    throw invalidOption(OWNER, 'store', options.store, 'it has no effect with an inbox: leave it out')
  checkRetention(OWNER, 'inbox', inbox.retentionMs, tolerance)
  return {
    inbox,
    orderBy: options.orderBy === undefined ? undefined : functionOption(OWNER, 'orderBy', options.orderBy),
    ...parseEmptyingOptions(OWNER, options),
  }
}

function storeOption(
  store: IdempotencyStore | undefined,
  tolerance: Tolerance,
  fallback: { clock: () => number; environment: Environment; logger: Logger },
): IdempotencyStore {
  if (!store) {
    // A little longer than callbacks are accepted, because the store reads its clock after the signature was
    // checked.
    const retentionMs = tolerance.toleranceMs + tolerance.futureToleranceMs + 60_000
    // The default clock of the store is monotonic. The default clock of the receiver must tell the time of day.
    const clock = fallback.clock === fallback.environment.now ? undefined : fallback.clock
    return new MemoryIdempotencyStore({ retentionMs, logger: fallback.logger, clock })
  }
  if (isInbox(store))
    throw invalidOption(OWNER, 'store', store, 'it is an inbox: pass it as inbox', 'an inbox')
  objectOption(OWNER, 'store', store, ['claim'])
  checkRetention(OWNER, 'store', store.retentionMs, tolerance)
  return store
}
