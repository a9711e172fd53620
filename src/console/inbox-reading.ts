import type { ActivityBucket, ActivityRequest } from '../inbox/activity.js'
import type { EntrySummary, InboxOperations, InboxStats } from '../inbox/operations.js'
import { SharedReading } from './shared-reading.js'
import { NEEDS_DECISION } from './views/entry-filter.js'

const STATS_MS = 1_000
/** Longer than for the states: a week takes longer to count, and a bar of the chart changes slowly. */
const ACTIVITY_MS = 4_000

const MAX_WAITING = 8
/** A page is shown without a value that takes longer to read, in milliseconds. */
const WAIT_MS = 30

type ReadInbox = Pick<InboxOperations, 'stats' | 'activity' | 'list'>

/** What the overview shows of an inbox. Each value is undefined if the inbox takes long to read; a later call then gets it. */
export class InboxReading {
  readonly #inbox: ReadInbox
  readonly #now: () => number
  readonly #stats: SharedReading<InboxStats>
  readonly #waiting: SharedReading<readonly EntrySummary[]>
  /** By the length of a bar in milliseconds. Each period of the chart has a different one. */
  readonly #activity = new Map<number, SharedReading<readonly ActivityBucket[]>>()

  /** `now`: a monotonic clock in milliseconds. */
  constructor(inbox: ReadInbox, now: () => number) {
    this.#inbox = inbox
    this.#now = now
    this.#stats = new SharedReading(STATS_MS, now)
    this.#waiting = new SharedReading(STATS_MS, now)
  }

  stats(): Promise<InboxStats | undefined> {
    return this.#stats.getWithin(WAIT_MS, () => this.#inbox.stats())
  }

  /** The latest entries that wait for a decision. */
  waiting(): Promise<readonly EntrySummary[] | undefined> {
    return this.#waiting.getWithin(WAIT_MS, async () => {
      const page = { limit: MAX_WAITING, newestFirst: true }
      return (await this.#inbox.list({ states: NEEDS_DECISION }, page)).entries
    })
  }

  activity(request: ActivityRequest): Promise<readonly ActivityBucket[] | undefined> {
    let shared = this.#activity.get(request.bucketMs)
    if (!shared) this.#activity.set(request.bucketMs, (shared = new SharedReading(ACTIVITY_MS, this.#now)))
    return shared.getWithin(WAIT_MS, () => this.#inbox.activity(request))
  }

  /** Makes the next call read the inbox again. Called after a decision, so that the page shows its result. */
  forget(): void {
    this.#stats.forget()
    this.#waiting.forget()
    for (const shared of this.#activity.values()) shared.forget()
  }
}
