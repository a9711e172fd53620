import { setImmediate as nextTick } from 'node:timers/promises'
import {
  ACTIVITY_STATES,
  ActivityCounts,
  type ActivityBucket,
  type ActivityRequest,
  type ActivityState,
} from '../activity.js'
import type { Reader } from './read-inbox-file.js'

/** How long one step blocks the event loop, in milliseconds; a count that began is completed. */
const STEP_MS = 3
/** How many entries one count reads. A range with more is counted in two halves. */
const MAX_COUNTED = 20_000

interface Range {
  readonly state: ActivityState
  readonly from: number
  readonly to: number
}

/** Counts by the indexes on the ends of entries, in steps. `read` runs each step. */
export async function activity(
  request: ActivityRequest,
  read: (step: (db: Reader) => void) => Promise<void>,
): Promise<readonly ActivityBucket[]> {
  const counts = new ActivityCounts(request)
  const ranges = ACTIVITY_STATES.flatMap((state) =>
    counts.ranges.map((range): Range => ({ state, ...range })),
  )
  while (ranges.length > 0) {
    await read((db) => {
      const end = performance.now() + STEP_MS
      while (ranges.length > 0 && performance.now() < end) countLast(db, ranges, counts)
    })
    await nextTick()
  }
  return counts.result()
}

/** Counts the last range and removes it, or replaces it by its halves. It is left as it is if the count throws. */
function countLast(db: Reader, ranges: Range[], counts: ActivityCounts): void {
  const { state, from, to } = ranges.at(-1)!
  const limit = to - from > 1 ? MAX_COUNTED + 1 : -1
  const { count } = db.get<{ count: number }>(COUNT[state], from, to, limit)!
  ranges.pop()
  if (limit < 0 || count < limit) return counts.add(state, from, count)
  const middle = Math.floor((from + to) / 2)
  ranges.push({ state, from: middle, to }, { state, from, to: middle })
}

const ended = (state: string) => `
  SELECT count(*) AS count FROM (
    SELECT 1 FROM entries WHERE state = '${state}' AND finished_at >= ? AND finished_at < ? LIMIT ?
  )`

const COUNT: Readonly<Record<ActivityState, string>> = {
  handled: ended('handled'),
  dead: ended('dead'),
  discarded: ended('discarded'),
  quarantined: `
    SELECT count(*) AS count FROM (
      SELECT 1 FROM entries WHERE state = 'quarantined' AND received_at >= ? AND received_at < ? LIMIT ?
    )`,
}
