import {
  ACTIVITY_STATES,
  ActivityCounts,
  type ActivityBucket,
  type ActivityRange,
  type ActivityState,
} from '../activity.js'
import { NO_ENTRIES } from '../states.js'
import type { EngineFilter } from '../engine.js'
import type { EntryPage, EntrySummary, InboxStats } from '../operations.js'
import { DEFAULT_PAGE_LIMIT } from '../search.js'
import type { InboxState } from '../states.js'
import { summaryOf, type MemoryEntry } from './memory-entry.js'

/** Returns the state that is reported for an entry. */
export type StateOf = (entry: MemoryEntry) => InboxState

/** With the types that workers have handlers for. */
export function shownStates(handled: ReadonlySet<string> | 'any'): StateOf {
  return ({ state, callback }) => {
    const isWaiting = state === 'stored' || state === 'retrying'
    return isWaiting && handled !== 'any' && !handled.has(callback.type) ? 'unhandled' : state
  }
}

/** `entries` are in the order of their arrival. */
export function statsOf(entries: Iterable<MemoryEntry>, stateOf: StateOf): InboxStats {
  const counts = { ...NO_ENTRIES }
  let oldestUnfinishedAt: Date | undefined
  for (const entry of entries) {
    const state = stateOf(entry)
    counts[state]++
    if (entry.dueAt !== undefined && state !== 'unhandled') oldestUnfinishedAt ??= entry.callback.receivedAt
  }
  return { counts, oldestUnfinishedAt }
}

/** `entries` are in the order of their arrival. */
export function listOf(
  entries: Iterable<MemoryEntry>,
  filter: EngineFilter,
  { afterId, limit = DEFAULT_PAGE_LIMIT, newestFirst = false }: EntryPage,
  stateOf: StateOf,
): EntrySummary[] {
  const { states, eventType, idempotencyKey, bodyId, subscriptionId, reason } = filter
  const { before = Infinity, after = -Infinity } = filter
  // Its entry may have been deleted since. No entry follows what cannot be an id.
  const afterSequence = /^[1-9]\d{0,15}$/.test(afterId ?? '') ? Number(afterId) : NaN
  const matches = (entry: MemoryEntry) => {
    const { sequence, reason: own = '', callback } = entry
    const received = Number(callback.receivedAt)
    return (
      (afterId === undefined || (newestFirst ? sequence < afterSequence : sequence > afterSequence)) &&
      (states === undefined || states.includes(stateOf(entry))) &&
      (eventType === undefined || callback.type === eventType) &&
      (idempotencyKey === undefined || callback.idempotencyKey === idempotencyKey) &&
      (bodyId === undefined || entry.bodyId === bodyId) &&
      (subscriptionId === undefined || callback.subscription.id === subscriptionId) &&
      (reason === undefined || lowerCase(own).includes(lowerCase(reason))) &&
      received < before &&
      received > after
    )
  }
  const found: EntrySummary[] = []
  for (const entry of newestFirst ? [...entries].toReversed() : entries) {
    if (found.length >= limit) break
    if (matches(entry)) found.push(summaryOf(entry, stateOf(entry)))
  }
  return found
}

/** Counts entries by time. It uses their stored states, because an activity never contains a computed state. */
export function activityOf(
  entries: Iterable<MemoryEntry>,
  request: ActivityRange,
): readonly ActivityBucket[] {
  const counts = new ActivityCounts(request)
  for (const { state, finishedAt, callback } of entries) {
    const at = state === 'quarantined' ? Number(callback.receivedAt) : finishedAt
    if (isActivityState(state) && at !== undefined) counts.add(state, at)
  }
  return counts.result()
}

function isActivityState(state: InboxState): state is ActivityState {
  return (ACTIVITY_STATES as readonly InboxState[]).includes(state)
}

/** A to Z only, as SQLite does. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
