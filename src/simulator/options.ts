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
 * Options marked "not documented" set what the service's documentation does not describe. Their defaults are the
 * simulator's own, not the service's.
 */
export interface ServiceSimulatorOptions {
  /** The port on 127.0.0.1; 0 takes a free one. @default 0 */
  readonly port?: number | undefined
  /** A UUID. @default a random one */
  readonly clientId?: string | undefined
  /** 1 to 40 letters, digits, `-`, `_`, `.` and `~`. @default 40 random characters */
  readonly clientSecret?: string | undefined
  /** The lifetime of access tokens, in seconds. @default 3600 */
  readonly tokenLifetimeSeconds?: number | undefined
  /** Where deliveries connect to, independent of the callbackUrl: loopback only. @default the callbackUrl itself */
  readonly deliverTo?: DeliverTo | undefined
  /**
   * Determines the generated ids and orders, so that a run can be repeated. @default a random one, in
   * `simulator.seed`
   */
  readonly seed?: number | undefined
  /** The current time in milliseconds since 1970, for the lifetime of tokens and for timestamps. @default Date.now */
  readonly clock?: (() => number) | undefined
  /**
   * The toleranceMs of the receiver, in milliseconds. A request that was signed longer ago is suspect, and a
   * correct receiver does not handle it. @default 86_400_000 (24 hours)
   */
  readonly toleranceMs?: number | undefined
  /**
   * The futureToleranceMs of the receiver, in milliseconds. A request that is signed further in the future is
   * suspect. @default 300_000 (5 minutes)
   */
  readonly futureToleranceMs?: number | undefined
  /** How long a receiver may take to answer, in milliseconds. Not documented. @default 10_000 */
  readonly answerTimeoutMs?: number | undefined
  /** Whether and how a callback that was not delivered is retried. Not documented. @default null: it is not retried */
  readonly retry?: RetryPolicy | null | undefined

  /**
   * Whether a client secret is case-sensitive: the service's rules can be read in two ways. Not documented.
   * @default 'counts'
   */
  readonly clientSecretCase?: 'counts' | 'ignored' | undefined
  /**
   * Whether a token request during the lifetime of a token is answered with a new token, or with the same one and
   * its remaining lifetime. Not documented. @default 'fresh'
   */
  readonly repeatedTokenRequest?: 'fresh' | 'same' | undefined
  /**
   * Whether a second subscription with the same event type and callbackUrl, but another idempotency key, exists
   * beside the first one or replaces it. Not documented. @default 'beside'
   */
  readonly repeatedSubscription?: 'beside' | 'replace' | undefined
  /** What happens to a field that an account update does not contain. Not documented. @default 'kept' */
  readonly missingAccountField?: 'kept' | 'cleared' | 'refused' | undefined

  /** The answer to a subscription, which is created whatever the answer says. Not documented. @default 201, no body */
  readonly subscriptionResponse?:
    SimulatedResponse | ((subscription: ServiceSubscription) => SimulatedResponse) | undefined
  /**
   * The answer to an account update, which is applied whatever the answer says. Not documented. @default 200, no
   * body
   */
  readonly accountResponse?: SimulatedResponse | ((account: ServiceAccount) => SimulatedResponse) | undefined
  /**
   * The answer to a request that breaks a rule. Not documented, except the 400 to a token request.
   * @default refusal.status, and a JSON body with the reason
   */
  readonly refusalResponse?: ((refusal: Refusal) => SimulatedResponse) | undefined
  /**
   * Answers instead of the API, or closes the connection: for outages, rate limits and lost answers. Undefined
   * passes the request to the API. A promise delays the answer. @default none
   */
  readonly intercept?: ((request: ApiRequest) => Interception | Promise<Interception>) | undefined

  /**
   * pino, console, or compatible; `false` for none. It never gets a secret, token or signature.
   * @default warnings and errors go to standard error
   */
  readonly logger?: Logger | false | undefined
}

export type Interception = SimulatedResponse | 'hang-up' | undefined

const KNOWN = Object.keys({
  port: true,
  clientId: true,
  clientSecret: true,
  tokenLifetimeSeconds: true,
  deliverTo: true,
  seed: true,
  clock: true,
  toleranceMs: true,
  futureToleranceMs: true,
  answerTimeoutMs: true,
  retry: true,
  clientSecretCase: true,
  repeatedTokenRequest: true,
  repeatedSubscription: true,
  missingAccountField: true,
  subscriptionResponse: true,
  accountResponse: true,
  refusalResponse: true,
  intercept: true,
  logger: true,
} satisfies Record<keyof ServiceSimulatorOptions, true>)

const OWNER = 'startServiceSimulator'

/** The rule of SERVICE 2.2. */
export const CLIENT_SECRET = /^[\w.~-]{1,40}$/

export type SimulatorSettings = ReturnType<typeof parseSimulatorOptions>

/** The checked options, with defaults. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
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

/** One of a few words; the first of them if it is undefined. */
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

/** The option as a function. The result of a given function is checked when it returns. */
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
