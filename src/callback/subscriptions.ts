import { ownSubscriptionId, type PublicSubscription, type Subscription } from './callback.js'
import type { KnownSecrets } from '../logging/known-secrets.js'
import type { Logger } from '../logging/logger.js'
import { invalidOption, kindOf } from '../base/option-checks.js'
import { SubscriptionPreparer, type PreparedSubscription } from './prepared-subscription.js'
import { looksLikeSecretText } from '../signature/secret.js'

/** Hints from the request about which subscription is meant. Both are unauthenticated. */
export interface SubscriptionHints {
  /** X-Event-Type as it arrived, when there was exactly one. */
  readonly eventType: string | undefined
  /** Path and query of the request, which a proxy may have rewritten. */
  readonly path: string
}

/**
 * The subscriptions a callback may belong to: a list, or a function that looks them up, for many tenants. Anybody can forge
 * the hints of the function, so they only narrow the search: the function returns candidates, and the signature decides
 * which of them is meant.
 */
export type Subscriptions =
  | readonly Subscription[]
  | ((hints: SubscriptionHints) => readonly Subscription[] | Promise<readonly Subscription[]>)

export type SubscriptionLookup = (
  hints: SubscriptionHints,
) => readonly PreparedSubscription[] | Promise<readonly PreparedSubscription[]>

/**
 * Checks and prepares a list once. A function's answers are checked at each call, and a wrong one rejects; what it returned
 * before is not prepared again. `secrets` is told every secret before anything can be logged about it.
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
    return async (hints) => {
      const found = await subscriptions(hints)
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
        logger.warn({ code: 'WARN_SECRET_HAS_WHITE_SPACE', subscription }, message)
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

/** A subscription for the log: an id of its own, and no query, where people put tokens. The default id holds the URL. */
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

/** A callback URL for the log: people put tokens into queries. */
export function withoutQuery(callbackUrl: string): string {
  return callbackUrl.split('?', 1)[0]!
}
