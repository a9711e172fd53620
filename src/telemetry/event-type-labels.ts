import { integerOption } from '../base/option-checks.js'

/** The event type as the value of a label; `other` once there are too many. */
export type EventTypeLabel = (eventTypeName: string) => string

/**
 * Limits the number of event types. Each value of a label is a series that Prometheus keeps for months, and a `subscriptions` function
 * may return any number of event types.
 *
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function eventTypeLabels(owner: string, maxEventTypes: number | undefined): EventTypeLabel {
  const max = integerOption(owner, 'maxEventTypes', maxEventTypes, { fallback: 100, min: 1, max: 1_000 })
  const known = new Set<string>()
  return (eventTypeName) => {
    if (known.has(eventTypeName)) return eventTypeName
    if (known.size >= max) return 'other'
    known.add(eventTypeName)
    return eventTypeName
  }
}
