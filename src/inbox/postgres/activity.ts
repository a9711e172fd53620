import {
  ACTIVITY_STATES,
  ActivityCounts,
  type ActivityBucket,
  type ActivityRange,
  type ActivityState,
} from '../activity.js'
import type { BigInteger } from '../stored-entry.js'
import type { Transaction } from './transaction.js'

/** Counts by the indexes on the ends of entries. */
export async function activity(tx: Transaction, request: ActivityRange): Promise<readonly ActivityBucket[]> {
  const counts = new ActivityCounts(request)
  const { from, to, bucketMs } = request
  for (const row of await tx.all<BucketRow>(COUNTS, from, to, bucketMs))
    counts.add(row.state, Number(row.start), Number(row.count))
  return counts.result()
}

interface BucketRow {
  readonly state: ActivityState
  readonly start: BigInteger
  readonly count: BigInteger
}

// One count for each part takes two thirds of the time of a count that groups the entries by a computed part.
const COUNTS = ACTIVITY_STATES.map((state) => {
  const at = state === 'quarantined' ? 'received_at' : 'finished_at'
  return `
  SELECT '${state}' AS state, start, (
    SELECT count(*) FROM entries
    WHERE state = '${state}' AND ${at} >= start AND ${at} < least(start + $3::bigint, $2::bigint)
  ) AS count
  FROM generate_series($1::bigint, $2::bigint - 1, $3::bigint) AS start`
}).join(' UNION ALL ')
