import { ownSubscriptionId, type PublicSubscription, type Subscription } from './callback.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import type { Logger } from '../logging/logger.js'
import { invalidOption, kindOf } from '../base/option-checks.js'
import { originForm } from '../base/origin-form.js'
import { SubscriptionPreparer, type PreparedSubscription } from './prepared-subscription.js'
import { looksLikeSecretText } from '../signature/secret.js'

/** Unauthenticated hints from the request about the subscription. */
export interface SubscriptionHints {
  /** X-Event-Type as it arrived; undefined unless there was exactly one. */
  readonly eventType: string | undefined
  /** Path and query of the request. A proxy may have rewritten them. */
  readonly path: string
}

/**
 * The subscriptions that a callback may belong to: a list, or a function that returns them, for many tenants. The
 * hints can be forged, so they only narrow the search: the function returns candidates, and the signature decides
 * which one it is.
 */
export type Subscriptions =
  | readonly Subscription[]
  | ((hints: SubscriptionHints) => readonly Subscription[] | Promise<readonly Subscription[]>)

export type SubscriptionLookup = (
  hints: SubscriptionHints,
) => readonly PreparedSubscription[] | Promise<readonly PreparedSubscription[]>

/**
 * Checks and prepares a list once. The result of a function is checked at each call, and an invalid one rejects;
 * subscriptions that it returned before are not prepared again. Every secret is added to `secrets` before anything
 * about it can be logged.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function subscriptionLookup(
  owner: string,
  subscriptions: Subscriptions,
  logger: Logger,
  secrets: KnownSecrets,
): SubscriptionLookup {
  const preparer = new SubscriptionPreparer()
  if (typeof subscriptions === 'function') {
    return async ({ eventType, path }) => {
      const found = await subscriptions({ eventType, path: originForm(path) })
      if (!Array.isArray(found)) throw invalidOption(owner, RESULT, found, 'return a list', kindOf(found))
      const list: readonly Subscription[] = found
      const unchanged = preparer.unchanged(list)
      if (unchanged) return unchanged
      secrets.addReturned(list)
      return preparer.prepare(list, owner, 'subscriptions()')
    }
  }
  if (!Array.isArray(subscriptions) || subscriptions.length === 0) {
    throw invalidOption(
      owner,
      'subscriptions',
      subscriptions,
      'pass a list of at least one, or a function',
      Array.isArray(subscriptions) ? 'an empty list' : kindOf(subscriptions),
    )
  }
  secrets.add(subscriptions)
  const prepared = preparer.prepare(subscriptions, owner, 'subscriptions')
  warnOfPitfalls(prepared, logger)
  return () => prepared
}

const RESULT = { option: 'subscriptions', part: 'the result of subscriptions()' }

function warnOfPitfalls(subscriptions: readonly PreparedSubscription[], logger: Logger): void {
  const typesByUrlAndSecret = new Map<string, Set<string>>()
  for (const { id, eventTypeName, callbackUrl, secrets } of subscriptions) {
    const subscription = loggedSubscription({ id, eventTypeName, callbackUrl })
    for (const each of secrets) {
      if (looksLikeSecretText(each)) {
        const message =
          'a secret looks like the Base64 that is sent as secretText. The key is made of the text itself: if callbacks ' +
          'are refused with ERR_SIGNATURE_MISMATCH, configure the decoded text'
        logger.warn({ code: 'WARN_SECRET_LOOKS_LIKE_BASE64', subscription }, message)
      } else if (each.trim() !== each) {
        const message =
          'a secret begins or ends with white space, which is part of the key: was it read from a file?'
        logger.warn({ code: 'WARN_SECRET_ENCLOSED', subscription }, message)
      } else if (/^(["'`]).*\1$/s.test(each)) {
        const message =
          'a secret begins and ends with a quote, which is part of the key: does it belong to the syntax of an environment file?'
        logger.warn({ code: 'WARN_SECRET_ENCLOSED', subscription }, message)
      }
      const shared = typesByUrlAndSecret.get(`${callbackUrl}\n${each}`) ?? new Set()
      typesByUrlAndSecret.set(`${callbackUrl}\n${each}`, shared.add(eventTypeName))
      if (shared.size === 2) {
        const message =
          'two event types share a callbackUrl and a secret. The event type is not signed, so whoever holds a captured ' +
          'delivery can pass it off as the other type: give each subscription a secret of its own'
        logger.warn(
          { code: 'WARN_SUBSCRIPTIONS_SHARE_SECRET', subscription, eventTypeNames: [...shared] },
          message,
        )
      }
    }
  }
}

/**
 * A subscription for the log: its id unless it is the default one, which contains the URL; and no query, because
 * queries may contain tokens.
 */
export function loggedSubscription(subscription: PublicSubscription): Partial<PublicSubscription> {
  const { eventTypeName, callbackUrl, description } = subscription
  const id = ownSubscriptionId(subscription)
  return {
    ...(id !== undefined && { id }),
    eventTypeName,
    callbackUrl: withoutQuery(callbackUrl),
    ...(description !== undefined && { description }),
  }
}

/** A callback URL for the log, without the query, because queries may contain tokens. */
export function withoutQuery(callbackUrl: string): string {
  return callbackUrl.split('?', 1)[0]!
}
