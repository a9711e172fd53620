import type { ActivityBucket, ActivityRequest } from '../inbox/activity.js'
import type { InboxOperations, InboxStats } from '../inbox/operations.js'
import { SharedReading } from './shared-reading.js'

const STATS_MS = 1_000
/** A chart has wide bars, and to count a week takes longer. */
const ACTIVITY_MS = 4_000

/** What the overview shows of an inbox. */
export class InboxReading {
  readonly #operations: Pick<InboxOperations, 'stats' | 'activity'>
  readonly #now: () => number
  readonly #stats: SharedReading<InboxStats>
  /** By the length of a bar: each period of the chart has another. */
  readonly #activity = new Map<number, SharedReading<readonly ActivityBucket[]>>()

  /** `now`: a monotonic clock in milliseconds. */
  constructor(operations: Pick<InboxOperations, 'stats' | 'activity'>, now: () => number) {
    this.#operations = operations
    this.#now = now
    this.#stats = new SharedReading(STATS_MS, now)
  }

  stats(): Promise<InboxStats> {
    return this.#stats.get(() => this.#operations.stats())
  }

  activity(request: ActivityRequest): Promise<readonly ActivityBucket[]> {
    let shared = this.#activity.get(request.bucketMs)
    if (!shared) this.#activity.set(request.bucketMs, (shared = new SharedReading(ACTIVITY_MS, this.#now)))
    return shared.get(() => this.#operations.activity(request))
  }

  /** After a decision, which must be visible at once. */
  forget(): void {
    this.#stats.forget()
    for (const shared of this.#activity.values()) shared.forget()
  }
}
