import { ACTIVITY_STATES, ActivityCounts, type ActivityBucket, type ActivityRange } from '../activity.js'
import { countLastRange, inParts, type EndedRange } from './count-ended.js'
import { inSteps, type ReadStep } from './in-steps.js'

/** Counts by the indexes on the ends of entries, in steps. */
export async function activity(request: ActivityRange, read: ReadStep): Promise<readonly ActivityBucket[]> {
  const counts = new ActivityCounts(request)
  const ranges = ACTIVITY_STATES.flatMap((state) =>
    inParts(counts.ranges.map((range): EndedRange => ({ state, ...range }))),
  )
  await inSteps(
    read,
    () => ranges.length === 0,
    (db) => countLastRange(db, ranges, (state, from, count) => counts.add(state, from, count)),
  )
  return counts.result()
}
