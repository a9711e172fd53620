import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { loggerOption, type Logger } from '../logging/logger.js'
import {
  checkKnownOptions,
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
} from '../base/option-checks.js'
import { isUuid } from '../base/uuid.js'
import { DEFAULT_TOLERANCE, type Tolerance } from '../callback/authenticate.js'
import type { ApiRequest, Refusal, ServiceAccount, SimulatedResponse } from './api-types.js'
import type { RetryPolicy } from './delivery.js'
import { deliveryTarget, type DeliverTo } from './delivery-target.js'
import type { ServiceSubscription } from './subscription-book.js'

/**
 * Options marked "not shown" stand for what the service's documentation does not show. Their defaults are the simulator's
 * own: a program that is right with each of their values is right with the service, whatever it does.
 */
export interface ServiceSimulatorOptions {
  /** On 127.0.0.1; 0 takes any free one. @default 0 */
  readonly port?: number | undefined
  /** A UUID. @default a random one */
  readonly clientId?: string | undefined
  /** By the rules of SERVICE 2.2. @default 40 random characters */
  readonly clientSecret?: string | undefined
  /** @default 3600 */
  readonly tokenLifetimeSeconds?: number | undefined
  /** Where deliveries connect to, whatever was subscribed: loopback only. @default the callbackUrl itself */
  readonly deliverTo?: DeliverTo | undefined
  /** Ids and orders follow from it, so that a run can be repeated. @default a random one, in `simulator.seed` */
  readonly seed?: number | undefined
  /** Milliseconds since 1970: for the lifetime of tokens, and for timestamps. @default Date.now */
  readonly clock?: (() => number) | undefined
  /**
   * The receiver's, in milliseconds: what was signed longer ago when it is sent is suspect, and a right receiver does not
   * handle it. @default 86_400_000 (24 hours)
   */
  readonly toleranceMs?: number | undefined
  /** The receiver's, in milliseconds: what is signed further in the future is suspect. @default 300_000 (5 minutes) */
  readonly futureToleranceMs?: number | undefined
  /** How long a receiver may take for its answer, in milliseconds. Not shown. @default 10_000 */
  readonly answerTimeoutMs?: number | undefined
  /** Whether and how a callback that is not delivered is retried. Not shown. @default null: it is not retried */
  readonly retry?: RetryPolicy | null | undefined

  /** Whether the case of letters in a client secret counts: 2.2 can be read in two ways. Not shown. @default 'counts' */
  readonly clientSecretCase?: 'counts' | 'ignored' | undefined
  /**
   * Whether a token request within the lifetime of a token is answered with a fresh one, or with the same one and what is
   * left of its lifetime. Not shown. @default 'fresh'
   */
  readonly repeatedTokenRequest?: 'fresh' | 'same' | undefined
  /**
   * Whether a second subscription of an event type at one callbackUrl, under an idempotency key of its own, stays beside
   * the first one or replaces it. Not shown. @default 'beside'
   */
  readonly repeatedSubscription?: 'beside' | 'replace' | undefined
  /** What becomes of a field that an account update does not name. Not shown. @default 'kept' */
  readonly missingAccountField?: 'kept' | 'cleared' | 'refused' | undefined

  /** The answer to a subscription; it is kept whatever this says. Not shown. @default 201, no body */
  readonly subscriptionResponse?:
    SimulatedResponse | ((subscription: ServiceSubscription) => SimulatedResponse) | undefined
  /** The answer to an account update; it is kept whatever this says. Not shown. @default 200, no body */
  readonly accountResponse?: SimulatedResponse | ((account: ServiceAccount) => SimulatedResponse) | undefined
  /**
   * The answer to a request that breaks a rule. Not shown, but for the 400 to a token request.
   * @default refusal.status, and a JSON body with the reason
   */
  readonly refusalResponse?: ((refusal: Refusal) => SimulatedResponse) | undefined
  /**
   * Answers instead of the API, or hangs up: outages, rate limits, answers that get lost. Undefined lets the request through
   * to the API. A promise makes the answer slow. @default none
   */
  readonly intercept?: ((request: ApiRequest) => Interception | Promise<Interception>) | undefined

  /**
   * pino, console, or alike; `false` for none. Never given a secret, token or signature.
   * @default warnings and errors go to standard error
   */
  readonly logger?: Logger | false | undefined
}

export type Interception = SimulatedResponse | 'hang-up' | undefined

const KNOWN = [
  'port',
  'clientId',
  'clientSecret',
  'tokenLifetimeSeconds',
  'deliverTo',
  'seed',
  'clock',
  'toleranceMs',
  'futureToleranceMs',
  'answerTimeoutMs',
  'retry',
  'clientSecretCase',
  'repeatedTokenRequest',
  'repeatedSubscription',
  'missingAccountField',
  'subscriptionResponse',
  'accountResponse',
  'refusalResponse',
  'intercept',
  'logger',
] as const satisfies readonly (keyof ServiceSimulatorOptions)[]

// Fails to compile when an option is missing from the list.
type Forgotten = Exclude<keyof ServiceSimulatorOptions, (typeof KNOWN)[number]>
const complete: Forgotten extends never ? true : Forgotten = true
void complete

const OWNER = 'startServiceSimulator'

/** SERVICE 2.2. */
export const CLIENT_SECRET = /^[\w.~-]{1,40}$/

export type SimulatorSettings = ReturnType<typeof parseSimulatorOptions>

/** With defaults. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parseSimulatorOptions(options: ServiceSimulatorOptions) {
  checkKnownOptions(OWNER, options, KNOWN)
  const { clientId = randomUUID(), clientSecret = randomBytes(30).toString('base64url'), deliverTo } = options
  if (!isUuid(clientId)) throw invalidOption(OWNER, 'clientId', clientId, 'use a UUID')
  if (typeof clientSecret !== 'string' || !CLIENT_SECRET.test(clientSecret)) {
    const cure = 'use 1 to 40 letters, digits, dashes, underlines, dots and tildes'
    throw invalidOption(OWNER, 'clientSecret', undefined, cure, 'not of the form that the service gives out')
  }
  if (deliverTo !== undefined && typeof deliverTo !== 'function') deliveryTarget(OWNER, deliverTo)
  return {
    port: integerOption(OWNER, 'port', options.port, { fallback: 0, min: 0, max: 65_535 }),
    clientId,
    clientSecret,
    tokenLifetimeSeconds: integerOption(OWNER, 'tokenLifetimeSeconds', options.tokenLifetimeSeconds, {
      fallback: 3600,
      min: 1,
    }),
    deliverTo,
    seed: integerOption(OWNER, 'seed', options.seed, { fallback: randomInt(2 ** 32), min: 0 }),
    clock: functionOption(OWNER, 'clock', options.clock, Date.now),
    toleranceMs: toleranceOption('toleranceMs', options),
    futureToleranceMs: toleranceOption('futureToleranceMs', options),
    answerTimeoutMs: durationOption(OWNER, 'answerTimeoutMs', options.answerTimeoutMs, 10_000),
    retry: retryOption(OWNER, options.retry),
    clientSecretCase: oneOf('clientSecretCase', options.clientSecretCase, ['counts', 'ignored']),
    repeatedTokenRequest: oneOf('repeatedTokenRequest', options.repeatedTokenRequest, ['fresh', 'same']),
    repeatedSubscription: oneOf('repeatedSubscription', options.repeatedSubscription, ['beside', 'replace']),
    missingAccountField: oneOf('missingAccountField', options.missingAccountField, [
      'kept',
      'cleared',
      'refused',
    ]),
    subscriptionResponse: responseOption('subscriptionResponse', options.subscriptionResponse),
    accountResponse: responseOption('accountResponse', options.accountResponse),
    refusalResponse: optionalFunction('refusalResponse', options.refusalResponse),
    intercept: optionalFunction('intercept', options.intercept),
    logger: loggerOption(OWNER, options.logger),
  }
}

function toleranceOption(name: keyof Tolerance, options: ServiceSimulatorOptions): number {
  return integerOption(OWNER, name, options[name], { fallback: DEFAULT_TOLERANCE[name], min: 0 })
}

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function retryOption(owner: string, retry: RetryPolicy | null | undefined): RetryPolicy | undefined {
  if (retry === null || retry === undefined) return undefined
  checkKnownOptions(`${owner}: retry`, retry, ['delaysMs', 'timestamp', 'isDelivered'])
  const { delaysMs, timestamp, isDelivered } = retry
  if (!Array.isArray(delaysMs)) throw invalidOption(owner, 'retry.delaysMs', delaysMs, 'list delays')
  for (const delay of delaysMs as readonly number[])
    integerOption(owner, 'retry.delaysMs', delay, { fallback: -1, min: 0, max: 2 ** 31 - 1 })
  if (timestamp !== 'first' && timestamp !== 'fresh')
    throw invalidOption(owner, 'retry.timestamp', timestamp, 'use "first" or "fresh"')
  if (isDelivered !== undefined) functionOption(owner, 'retry.isDelivered', isDelivered, isDelivered)
  return retry
}

/** One of a few words; the first of them when undefined. */
function oneOf<const Word extends string>(
  name: string,
  value: Word | undefined,
  words: readonly [Word, ...Word[]],
): Word {
  const word = value ?? words[0]
  if (words.includes(word)) return word
  throw invalidOption(OWNER, name, value, `use one of ${words.join(', ')}`)
}

function optionalFunction<Type>(name: string, value: Type | undefined): Type | undefined {
  return value === undefined ? undefined : functionOption(OWNER, name, value, value)
}

/** As a function in any case. What a function returns is checked when it does. */
function responseOption<About>(
  name: string,
  response: SimulatedResponse | ((about: About) => SimulatedResponse) | undefined,
): ((about: About) => SimulatedResponse) | undefined {
  if (response === undefined || typeof response === 'function') return response
  checkResponse(name, response)
  return () => response
}

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function checkResponse(name: string, response: SimulatedResponse): SimulatedResponse {
  checkKnownOptions(`${OWNER}: ${name}`, response, ['status', 'headers', 'body'])
  integerOption(OWNER, `${name}.status`, response.status, { fallback: 0, min: 200, max: 599 })
  return response
}
