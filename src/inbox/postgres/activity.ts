import {
  ACTIVITY_STATES,
  ActivityCounts,
  type ActivityBucket,
  type ActivityRequest,
  type ActivityState,
} from '../activity.js'
import type { BigInteger } from './row.js'
import type { Transaction } from './transaction.js'

/** Counts by the indexes on the ends of entries. */
export async function activity(
  tx: Transaction,
  request: ActivityRequest,
): Promise<readonly ActivityBucket[]> {
  const counts = new ActivityCounts(request)
  const { from, to, bucketMs } = request
  for (const row of await tx.all<BucketRow>(COUNTS, from, to, bucketMs))
    counts.add(row.state, from + Number(row.bucket) * bucketMs, Number(row.count))
  return counts.result()
}

interface BucketRow {
  readonly state: ActivityState
  readonly bucket: BigInteger
  readonly count: BigInteger
}

const COUNTS = ACTIVITY_STATES.map((state) => {
  const at = state === 'quarantined' ? 'received_at' : 'finished_at'
  return `
  SELECT '${state}' AS state, (${at} - $1::bigint) / $3::bigint AS bucket, count(*) AS count
  FROM entries WHERE state = '${state}' AND ${at} >= $1::bigint AND ${at} < $2::bigint GROUP BY 2`
}).join(' UNION ALL ')
