import { nextTick } from '../base/next-tick.js'
import type { EntryId } from '../callback/callback.js'
import type { EntryCount, EntryPage, EntryList, EntrySummary } from './operations.js'

/** How many entries a page of `list` has by default. */
export const DEFAULT_PAGE_LIMIT = 100

/** How many entries one call of `list` or `count` examines at most. */
const MAX_EXAMINED = 20_000

/**
 * How far the clocks of receivers may differ, in milliseconds. Ids increase with the arrival, so a search by time finds its ids by
 * bisection. The clocks can differ, so the search examines this much more time on both sides.
 */
export const CLOCK_MARGIN_MS = 3_600_000

/** The result of one step, which examines a bounded number of entries. */
export interface SearchStep<Found> {
  readonly found: Found
  /** The last entry that was examined, or the last one of a full page. Undefined if no further one can match. */
  readonly next: EntryId | undefined
}

/**
 * Searches in several steps, so that each step is short. Between the steps the event loop does other work. A list examines any number
 * of entries (`maxExamined`).
 */
export async function searchInSteps(
  { afterId, limit = DEFAULT_PAGE_LIMIT }: EntryPage,
  step: (afterId: EntryId | undefined, limit: number) => Promise<SearchStep<EntrySummary[]>>,
  examinedByStep: number,
  maxExamined = MAX_EXAMINED,
): Promise<EntryList> {
  const entries: EntrySummary[] = []
  let next = afterId
  for (let examined = 0; examined < maxExamined; examined += examinedByStep) {
    const done = await step(next, limit - entries.length)
    entries.push(...done.found)
    next = done.next
    if (next === undefined) return { entries }
    if (entries.length >= limit) break
    await nextTick()
  }
  return next === undefined ? { entries } : { entries, next }
}

/** Counts in several steps, as `searchInSteps` does. */
export async function countInSteps(
  max: number,
  step: (afterId: EntryId | undefined) => Promise<SearchStep<number>>,
  examinedByStep: number,
): Promise<EntryCount> {
  let count = 0
  let next: EntryId | undefined
  for (let examined = 0; examined < MAX_EXAMINED; examined += examinedByStep) {
    const done = await step(next)
    count += done.found
    next = done.next
    if (count > max) return { count: max, more: true }
    if (next === undefined) return { count, more: false }
    await nextTick()
  }
  return { count, more: true }
}
