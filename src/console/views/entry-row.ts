import { printable } from '../../base/printable.js'
import type { EntrySummary } from '../../inbox/operations.js'
import { timeView, type TimeView } from './time.js'

/** A row of the template `@entryTable`. */
export interface EntryRow {
  readonly href: string
  readonly receivedAt: TimeView
  readonly state: string
  readonly eventType: string
  readonly idempotencyKey: string
  readonly bodyId: string
  readonly attempts: number
  readonly reason: string
}

/** How many characters of a reason a list shows. The page of the entry shows all of them. */
const MAX_REASON = 300

export function entryRow(entry: EntrySummary): EntryRow {
  const { id, state, eventType, idempotencyKey, bodyId = '', attempts, reason = '', receivedAt } = entry
  const shownReason = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason
  return {
    href: entryHref(id),
    receivedAt: timeView(receivedAt),
    state,
    eventType: printable(eventType),
    idempotencyKey: printable(idempotencyKey),
    bodyId: printable(bodyId),
    attempts,
    reason: printable(shownReason),
  }
}

/** The id is in the query, not in the path: an inbox may use ids such as `..`, which browsers remove from a path. */
export function entryHref(id: string): string {
  return `entry?${new URLSearchParams({ id }).toString()}`
}
