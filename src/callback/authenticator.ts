import { authenticate, type Authentication } from './authenticate.js'
import type { CallbackRequest } from './callback.js'
import { withTimeout } from '../base/timeout.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import type { Logger } from '../logging/logger.js'
import { durationOption, functionOption, integerOption } from '../base/option-checks.js'
import type { Credentials } from '../signature/credentials.js'
import { subscriptionLookup, type Subscriptions } from './subscriptions.js'

export interface AuthenticatorOptions {
  /** What was subscribed: a list, or a function that looks it up by event type and request path. */
  readonly subscriptions: Subscriptions

  /**
   * How long ago a callback may have been signed, in milliseconds. The service does not say whether a retry is signed
   * anew, so a short time may lose what was delayed. @default 86_400_000 (24 hours)
   */
  readonly toleranceMs?: number | undefined
  /** How far ahead of this machine's clock a callback may have been signed, in milliseconds. @default 300_000 (5 min) */
  readonly futureToleranceMs?: number | undefined
  /**
   * How long whatever Countersign asks may take for one answer, in milliseconds, before the sender is told to come back
   * (503): the subscriptions function, the idempotency store, the inbox. A payload schema that takes longer counts as a
   * handler that failed. @default 5_000
   */
  readonly dependencyTimeoutMs?: number | undefined
  /** Milliseconds since 1970. @default Date.now */
  readonly clock?: (() => number) | undefined
}

export const AUTHENTICATOR_OPTIONS = [
  'subscriptions',
  'toleranceMs',
  'futureToleranceMs',
  'dependencyTimeoutMs',
  'clock',
] as const satisfies readonly (keyof AuthenticatorOptions)[]

export interface Authenticator {
  readonly toleranceMs: number
  readonly futureToleranceMs: number
  readonly dependencyTimeoutMs: number
  /** Whether a callback is what it claims to be. Never rejects. */
  authenticate(callback: CallbackRequest, credentials: Credentials): Promise<Authentication>
}

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function createAuthenticator(
  owner: string,
  options: AuthenticatorOptions,
  logger: Logger,
  secrets: KnownSecrets,
): Authenticator {
  const limit = (name: 'toleranceMs' | 'futureToleranceMs', fallback: number) =>
    integerOption(owner, name, options[name], { fallback, min: 0 })
  const tolerance = {
    toleranceMs: limit('toleranceMs', 86_400_000),
    futureToleranceMs: limit('futureToleranceMs', 300_000),
  }
  const clock = functionOption(owner, 'clock', options.clock, Date.now)
  const dependencyTimeoutMs = durationOption(owner, 'dependencyTimeoutMs', options.dependencyTimeoutMs, 5_000)
  const lookup = subscriptionLookup(owner, options.subscriptions, logger, secrets)

  return {
    ...tolerance,
    dependencyTimeoutMs,
    async authenticate(callback, credentials) {
      let candidates
      try {
        const { eventType } = callback.headers
        const hints = {
          eventType: typeof eventType === 'string' ? eventType : undefined,
          path: callback.path,
        }
        const found = lookup(hints)
        candidates =
          found instanceof Promise ? await withTimeout(found, dependencyTimeoutMs, 'subscriptions()') : found
      } catch (error) {
        return { verdict: 'refused', code: 'ERR_SUBSCRIPTIONS_UNAVAILABLE', error }
      }
      return authenticate(callback, credentials, candidates, clock(), tolerance)
    },
  }
}
