import type { Logger } from '../logging/logger.js'
import type { ApiRequest, Refusal, ServiceAccount, SimulatedResponse } from './api-types.js'
import type { RetryPolicy } from './delivery.js'
import type { DeliverTo } from './delivery-target.js'
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

/** What `intercept` decides: an answer, a closed connection (`hang-up`), or the simulator's own answer (undefined). */
export type Interception = SimulatedResponse | 'hang-up' | undefined
