import { performance } from 'node:perf_hooks'
import { withTimeout } from '../base/timeout.js'
import type { InboxOperations, InboxStats } from '../inbox/operations.js'
import { NO_ENTRIES } from '../inbox/states.js'
import { Gauge, type Metric, type Sample } from './instruments.js'

export type ReadInbox = Pick<InboxOperations, 'stats' | 'list'>

/** Several servers may scrape, and counting the entries of a large inbox takes time. */
const READ_EVERY_MS = 5_000
/** Prometheus gives up after 10 seconds by default. The other metrics must arrive without those of the inbox. */
const READ_LIMIT_MS = 2_000
/** A read that takes longer has failed. Until then the figures are those of the read before: a large inbox is counted for seconds. */
const SLOW_READ_MS = 30_000
const STATES = Object.keys(NO_ENTRIES) as (keyof typeof NO_ENTRIES)[]

interface Reading {
  readonly stats: InboxStats
  readonly oldestDead: Date | undefined
}

interface ObservedInbox {
  readonly inbox: ReadInbox
  startedAt: number
  /** Whether a read has not ended. It may take longer than the limit. */
  isReading: boolean
  /** Resolves when the read has ended, or after the limit. */
  waited: Promise<void>
  /** What the latest read that has ended found; undefined if it failed. */
  latest: Reading | undefined
}

/** What the inboxes hold, read when it is scraped. */
export class InboxMetrics {
  readonly #inboxes = new Map<string, ObservedInbox[]>()
  readonly #clock: () => number
  readonly #now: () => number

  /** `now`: a monotonic clock. Both are in milliseconds. */
  constructor(clock: () => number, now: () => number = () => performance.now()) {
    this.#clock = clock
    this.#now = now
  }

  /** Processes that are observed under one name share an inbox, so only one of them is read. */
  observe(name: string, inbox: ReadInbox): () => void {
    const waited = Promise.resolve()
    const observed = { inbox, startedAt: -Infinity, isReading: false, waited, latest: undefined }
    this.#inboxes.set(name, [...(this.#inboxes.get(name) ?? []), observed])
    return () => {
      const others = this.#inboxes.get(name)!.filter((each) => each !== observed)
      if (others.length > 0) this.#inboxes.set(name, others)
      else this.#inboxes.delete(name)
    }
  }

  get metrics(): Metric[] {
    return [
      this.#gauge(
        {
          name: 'countersign_inbox_readable',
          help: 'Whether the inbox can be read. If it is 0, the other figures of the inbox are absent.',
        },
        (reading) => [{ labels: {}, value: reading ? 1 : 0 }],
      ),
      this.#gauge({ name: 'countersign_inbox_entries', help: 'Entries in the inbox by state.' }, (reading) =>
        reading ? STATES.map((state) => ({ labels: { state }, value: reading.stats.counts[state] })) : [],
      ),
      this.#age(
        'countersign_inbox_oldest_unfinished_age_seconds',
        'Time since the arrival of the oldest entry that is stored, running or retrying; 0 if there is none.',
        ({ stats }) => stats.oldestUnfinishedAt,
      ),
      this.#age(
        'countersign_inbox_oldest_dead_letter_age_seconds',
        'Time since the arrival of the oldest entry that is a dead letter; 0 if there is none.',
        ({ oldestDead }) => oldestDead,
      ),
      this.#age(
        'countersign_inbox_oldest_snapshot_age_seconds',
        'How long a session or a prepared transaction has kept PostgreSQL from removing dead rows; 0 if less than a minute.',
        ({ stats }) => stats.oldestSnapshot?.since,
      ),
      this.#gauge(
        { name: 'countersign_inbox_dead_rows', help: 'Dead rows of the tables of the inbox in PostgreSQL.' },
        (reading) =>
          reading?.stats.deadRows === undefined ? [] : [{ labels: {}, value: reading.stats.deadRows }],
      ),
    ]
  }

  #age(name: string, help: string, since: (reading: Reading) => Date | undefined): Gauge {
    return this.#gauge({ name, help }, (reading) => {
      if (!reading) return []
      const oldest = since(reading)
      // The clock may have been set back since the arrival.
      const ageMs = oldest === undefined ? 0 : Math.max(0, this.#clock() - oldest.getTime())
      return [{ labels: {}, value: ageMs / 1000 }]
    })
  }

  #gauge(
    description: { name: string; help: string },
    samples: (reading: Reading | undefined) => Sample[],
  ): Gauge {
    return new Gauge(description, async () => {
      const readings = [...this.#inboxes].map(async ([inbox, [first]]) => {
        const reading = await read(first!, this.#now())
        return samples(reading).map(({ labels, value }) => ({ labels: { inbox, ...labels }, value }))
      })
      return (await Promise.all(readings)).flat()
    })
  }
}

async function read(observed: ObservedInbox, now: number): Promise<Reading | undefined> {
  // Otherwise reads of a database that does not answer would accumulate, and take the connections that callbacks need.
  if (!observed.isReading && now - observed.startedAt >= READ_EVERY_MS) start(observed, now)
  await observed.waited
  return observed.isReading && now - observed.startedAt >= SLOW_READ_MS ? undefined : observed.latest
}

function start(observed: ObservedInbox, now: number): void {
  observed.startedAt = now
  observed.isReading = true
  const reading = readNow(observed.inbox)
    .then(
      (found) => (observed.latest = found),
      () => (observed.latest = undefined),
    )
    .finally(() => (observed.isReading = false))
  observed.waited = withTimeout(reading, READ_LIMIT_MS, 'the inbox').then(
    () => {},
    () => {},
  )
}

async function readNow(inbox: ReadInbox): Promise<Reading> {
  const stats = await inbox.stats()
  if (stats.counts.dead === 0) return { stats, oldestDead: undefined }
  const { entries } = await inbox.list({ states: ['dead'] }, { limit: 1 })
  return { stats, oldestDead: entries[0]?.receivedAt }
}
