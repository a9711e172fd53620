import { environmentOf } from '../base/environment.js'
import { authenticate, type Authentication } from './authenticate.js'
import { onlyValue, type ReadRequest } from './callback.js'
import { isPending, type MaybePending } from '../base/pending.js'
import { withTimeout } from '../base/timeout.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import type { Logger } from '../logging/logger.js'
import { clockOption, durationOption } from '../base/option-checks.js'
import { subscriptionLookup, type Subscriptions } from './subscriptions.js'
import { toleranceOptions } from './tolerance.js'

export interface AuthenticatorOptions {
  /** The subscriptions: a list, or a function that returns them for an event type and a request path. */
  readonly subscriptions: Subscriptions

  /**
   * How long ago a callback may have been signed, in milliseconds. The service does not document whether a retry has a new
   * timestamp, so a short time may refuse genuine callbacks that were delayed. @default 86_400_000 (24 hours)
   */
  readonly toleranceMs?: number | undefined
  /** How far ahead of this machine's clock a callback may have been signed, in milliseconds. @default 300_000 (5 min) */
  readonly futureToleranceMs?: number | undefined
  /**
   * How long one call of the subscriptions function, the idempotency store or the inbox may take, in milliseconds.
   * Then the sender is answered 503 with Retry-After. A payload schema that takes longer counts as a failed
   * handler.
   * @default 5_000
   */
  readonly dependencyTimeoutMs?: number | undefined
  /** The current time in milliseconds since 1970. @default Date.now */
  readonly clock?: (() => number) | undefined
}

export const AUTHENTICATOR_OPTIONS = [
  'subscriptions',
  'toleranceMs',
  'futureToleranceMs',
  'dependencyTimeoutMs',
  'clock',
] as const satisfies readonly (keyof AuthenticatorOptions)[]

/** `AuthenticatorOptions`, checked and with defaults. */
export type AuthenticatorSettings = Readonly<ReturnType<typeof parseAuthenticatorOptions>>

/**
 * Logs a warning for subscriptions that are probably wrong, and adds their secrets to `secrets`.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function parseAuthenticatorOptions(
  owner: string,
  options: AuthenticatorOptions,
  logger: Logger,
  secrets: KnownSecrets,
) {
  const environment = environmentOf(options)
  return {
    ...toleranceOptions(owner, options),
    environment,
    clock: clockOption(owner, options.clock, environment.now),
    dependencyTimeoutMs: dependencyTimeoutOption(owner, options.dependencyTimeoutMs),
    subscriptions: subscriptionLookup(owner, options.subscriptions, logger, secrets),
  }
}

/** Verifies a callback against the subscriptions that may have sent it. Fails only if the clock throws. */
export type Authenticator = (request: ReadRequest) => MaybePending<Authentication>

export function createAuthenticator(settings: AuthenticatorSettings): Authenticator {
  const { subscriptions, dependencyTimeoutMs, clock, environment } = settings
  return (request) => {
    const { path, headers } = request
    const found = subscriptions({ eventType: onlyValue(headers.eventType), path })
    if (!isPending(found)) return authenticate(request, found, clock(), settings)
    return withTimeout(found, dependencyTimeoutMs, 'subscriptions()', { environment }).then(
      (candidates) => authenticate(request, candidates, clock(), settings),
      (error: unknown) => ({ verdict: 'refused', code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE', error }),
    )
  }
}

/** @throws CountersignError ERR_OPTION_INVALID */
export function dependencyTimeoutOption(owner: string, value: number | undefined): number {
  return durationOption(owner, 'dependencyTimeoutMs', value, 5_000)
}
