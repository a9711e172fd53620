import type { PublicSubscription } from '../callback/callback.js'
import type { Logger } from '../logging/logger.js'
import { similarName } from '../base/similar-name.js'

/** Which event types have handlers. */
export interface Handled {
  readonly types: ReadonlySet<string>
  readonly any: boolean
  readonly unhandled: boolean
}

/**
 * Logs a warning for a likely mistake: no handler at all, a subscribed type without a handler, a handler of a type
 * that is not subscribed. `subscribed` is undefined if a function returns the subscriptions, because their types
 * are not known.
 */
export function warnOfGaps(
  subscribed: readonly Pick<PublicSubscription, 'eventTypeName'>[] | undefined,
  { types, any, unhandled }: Handled,
  logger: Logger,
  { hasInbox = false } = {},
): void {
  if (types.size === 0 && !any && !unhandled) {
    // It only stores. A worker in another process handles.
    if (hasInbox) return
    logger.warn({ code: 'WARN_HANDLER_MISSING' }, 'no handler is registered: no callback will be handled')
    return
  }
  if (subscribed === undefined) return
  const names = [...new Set(subscribed.map(({ eventTypeName }) => eventTypeName))]
  for (const eventTypeName of names) {
    if (any || unhandled || types.has(eventTypeName)) continue
    const message = `no handler for ${eventTypeName}: its genuine callbacks will not be handled`
    logger.warn({ code: 'WARN_HANDLER_MISSING', eventTypeName }, message)
  }
  for (const eventTypeName of types) {
    if (names.includes(eventTypeName)) continue
    const meant = similarName(eventTypeName, names)
    const guess = meant === undefined ? '' : ` (did you mean ${meant}?)`
    const message = `a handler for ${eventTypeName}, but no subscription to it: the handler will never run${guess}`
    logger.warn({ code: 'WARN_HANDLER_UNREACHABLE', eventTypeName }, message)
  }
}
