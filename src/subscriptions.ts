import type { CheckedSubscription, Subscription } from './callback.js'
import { CountersignError } from './errors.js'
import type { Logger } from './logger.js'
import { checkKnownOptions, invalidOption, kindOf } from './option-checks.js'
import { callbackUrlProblem } from './signature/callback-url.js'
import { looksLikeSecretText, secretProblem } from './signature/secret.js'

/** Where to look, from the request itself: a stranger may have written both. */
export interface SubscriptionHints {
  /** X-Event-Type as it arrived, when there was exactly one. */
  readonly eventType: string | undefined
  /** Path and query of the request, which a proxy may have rewritten. */
  readonly path: string
}

/**
 * The subscriptions a callback may belong to: a list, or a function that looks them up, for many tenants. The function
 * is given hints that anybody can forge, so they may narrow the search and decide nothing: what it returns are
 * candidates, and only a matching signature picks one.
 */
export type Subscriptions =
  | readonly Subscription[]
  | ((hints: SubscriptionHints) => readonly Subscription[] | Promise<readonly Subscription[]>)

export type SubscriptionLookup = (
  hints: SubscriptionHints,
) => readonly CheckedSubscription[] | Promise<readonly CheckedSubscription[]>

/**
 * Checks a list once; a function's answers are checked at each call, and a wrong one rejects.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function subscriptionLookup(
  owner: string,
  subscriptions: Subscriptions,
  logger: Logger,
): SubscriptionLookup {
  if (typeof subscriptions === 'function') {
    return async (hints) => {
      const found = await subscriptions(hints)
      if (!Array.isArray(found))
        throw invalidOption(owner, 'the result of subscriptions()', found, 'return a list', kindOf(found))
      return found.map((each: Subscription, index) =>
        checkSubscription(`${owner}: subscriptions()[${index}]`, each),
      )
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
  const checked = subscriptions.map((each: Subscription, index) =>
    checkSubscription(`${owner}: subscriptions[${index}]`, each),
  )
  warnOfPitfalls(checked, logger)
  return () => checked
}

function checkSubscription(where: string, subscription: Subscription): CheckedSubscription {
  checkKnownOptions(where, subscription, ['eventTypeName', 'callbackUrl', 'secret', 'description'])
  const { eventTypeName, callbackUrl, secret, description } = subscription
  if (typeof eventTypeName !== 'string' || eventTypeName === '') {
    throw invalidOption(
      where,
      'eventTypeName',
      eventTypeName,
      'use the name that was subscribed, such as "transfers.book-completed"',
    )
  }
  if (description !== undefined && typeof description !== 'string') {
    throw invalidOption(where, 'description', description, 'use a text, or leave it out')
  }
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0) throw invalidOption(where, 'secret', secret, 'list at least one secret')
  const problem = callbackUrlProblem(callbackUrl) ?? secrets.map(secretProblem).find(Boolean)
  if (problem) throw new CountersignError('ERR_OPTION_INVALID', `${where}: ${problem}`)
  // A copy: no later change of the caller's object gets past these checks.
  return {
    eventTypeName,
    callbackUrl,
    description,
    secret: typeof secret === 'string' ? secret : [...secret!],
  }
}

function warnOfPitfalls(subscriptions: readonly CheckedSubscription[], logger: Logger): void {
  const typesByUrlAndSecret = new Map<string, Set<string>>()
  for (const { eventTypeName, callbackUrl, secret } of subscriptions) {
    const subscription = { eventTypeName, callbackUrl: withoutQuery(callbackUrl) }
    for (const each of [secret].flat()) {
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

/** A callback URL for the log: people put tokens into queries. */
export function withoutQuery(callbackUrl: string): string {
  return callbackUrl.split('?', 1)[0]!
}
