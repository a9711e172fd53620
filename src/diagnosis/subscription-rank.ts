import type { ExplainedSubscription } from './options.js'
import { valuesOf, type HeaderLine } from './received-request.js'
import type { RequestUrls } from './request-urls.js'

/** The subscriptions that the request is probably for come first: the search may end before all were tried. */
export function rankedSubscriptions(
  subscriptions: readonly ExplainedSubscription[],
  lines: readonly HeaderLine[],
  { hosts, targets }: RequestUrls,
): ExplainedSubscription[] {
  const types = valuesOf(lines, 'x-event-type')
  const rank = ({ eventTypeName, url }: ExplainedSubscription) =>
    (types.includes(eventTypeName) ? 4 : 0) +
    (targets.some((target) => target.split('?', 1)[0] === url.pathname) ? 2 : 0) +
    (hosts.includes(url.host) ? 1 : 0)
  return subscriptions
    .map((subscription) => ({ subscription, rank: rank(subscription) }))
    .sort((one, other) => other.rank - one.rank)
    .map(({ subscription }) => subscription)
}
