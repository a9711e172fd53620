import { types } from 'node:util'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, wrongOption } from '../base/option-checks.js'
import type { InboxState } from './states.js'

/** A time range, and the length of its parts. Times are dates, or milliseconds since 1970. */
export interface ActivityRequest {
  readonly from: Date | number
  /** The end of the range. This time is not included. */
  readonly to: Date | number
  /** The length of a part, in milliseconds. The range may have at most 1,000 parts. The last part ends at `to`. */
  readonly bucketMs: number
}

/** A request with its times in milliseconds since 1970. */
export interface ActivityRange extends ActivityRequest {
  readonly from: number
  readonly to: number
}

/** How many entries ended within one part of a time range. */
export interface ActivityBucket extends Readonly<Record<ActivityState, number>> {
  /** When this part begins. */
  readonly at: Date
}

/** The states that are counted by time: by the time of the end, and `quarantined` by the time of the arrival. */
export const ACTIVITY_STATES = [
  'handled',
  'dead',
  'discarded',
  'quarantined',
] as const satisfies readonly InboxState[]

export type ActivityState = (typeof ACTIVITY_STATES)[number]

const OWNER = 'inbox.activity'
const MAX_BUCKETS = 1_000
const REQUEST_NAMES = ['from', 'to', 'bucketMs'] as const satisfies readonly (keyof ActivityRequest)[]
void (true satisfies HasAll<keyof ActivityRequest, typeof REQUEST_NAMES>)

/** @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID */
export function activityRange(request: ActivityRequest): ActivityRange {
  checkKnownOptions(OWNER, request, REQUEST_NAMES, { option: 'request', part: 'request' })
  const { bucketMs } = request
  const [from, to] = [timeOf(request.from), timeOf(request.to)]
  if (![from, to].every(Number.isSafeInteger) || from >= to)
    throw wrongOption(
      OWNER,
      'from',
      `from is ${from} and to is ${to}: use dates or whole numbers, with from before to.`,
    )
  if (!Number.isSafeInteger(bucketMs) || bucketMs < 1 || bucketsOf({ from, to, bucketMs }) > MAX_BUCKETS) {
    const cure = `use a whole number that divides the range into at most ${MAX_BUCKETS} parts`
    throw wrongOption(OWNER, 'bucketMs', `bucketMs is ${bucketMs}: ${cure}.`)
  }
  return { from, to, bucketMs }
}

export function timeOf(time: Date | number): number {
  return types.isDate(time) ? time.getTime() : time
}

function bucketsOf({ from, to, bucketMs }: ActivityRange): number {
  return Math.ceil((to - from) / bucketMs)
}

/** Counts entries by the part of the range in which they ended. */
export class ActivityCounts {
  readonly #request: ActivityRange
  readonly #buckets: Record<ActivityState, number>[]

  constructor(request: ActivityRange) {
    this.#request = request
    this.#buckets = Array.from({ length: bucketsOf(request) }, () => ({
      handled: 0,
      dead: 0,
      discarded: 0,
      quarantined: 0,
    }))
  }

  /** The parts of the range, from the first to the last: when each begins and ends. */
  get ranges(): readonly { readonly from: number; readonly to: number }[] {
    const { from, to, bucketMs } = this.#request
    return this.#buckets.map((_, index) => {
      const start = from + index * bucketMs
      return { from: start, to: Math.min(to, start + bucketMs) }
    })
  }

  /** Adds entries that ended at this time. A time outside the range has no effect. */
  add(state: ActivityState, at: number, entries = 1): void {
    const { from, to, bucketMs } = this.#request
    if (at >= from && at < to) this.#buckets[Math.floor((at - from) / bucketMs)]![state] += entries
  }

  result(): readonly ActivityBucket[] {
    const { from, bucketMs } = this.#request
    return this.#buckets.map((counts, index) => ({ at: new Date(from + index * bucketMs), ...counts }))
  }
}
