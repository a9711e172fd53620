import { NO_ENTRIES } from '../no-entries.js'
import type { InboxStats } from '../operations.js'
import type { InboxState, StoredState } from '../states.js'
import { countLastRange, inParts, type EndedRange } from './count-ended.js'
import { unhandledTypes } from './handled-types.js'
import { inSteps, type ReadStep } from './in-steps.js'
import type { Reader } from './read-inbox-file.js'

/**
 * How many entries are in each state. It counts in steps. An entry that changes its state between two steps may be counted twice or
 * not at all.
 */
export async function stats(read: ReadStep): Promise<InboxStats> {
  const counting = new Counting()
  await inSteps(
    read,
    () => counting.isDone,
    (db) => counting.step(db),
  )
  return counting.result()
}

/** Like `stats`, but in one step. */
export function statsAtOnce(db: Reader): InboxStats {
  const counting = new Counting()
  while (!counting.isDone) counting.step(db)
  return counting.result()
}

class Counting {
  readonly #counts = { ...NO_ENTRIES }
  readonly #tasks: Task[]
  #oldestUnfinished: Date | undefined

  constructor() {
    const countUnhandledLast: Task = (db) => {
      this.#oldestUnfinished = countUnhandled(db, this.#counts)
      this.#tasks.pop()
    }
    this.#tasks = [countUnhandledLast]
    addTasks(this.#tasks, this.#counts)
  }

  get isDone(): boolean {
    return this.#tasks.length === 0
  }

  step(db: Reader): void {
    this.#tasks.at(-1)!(db)
  }

  result(): InboxStats {
    return { ...this.#counts, oldestUnfinished: this.#oldestUnfinished }
  }
}

/** A part of the count, which each call continues by a bounded amount of work. It removes itself from the list at its end. */
type Task = (db: Reader) => void

function addTasks(tasks: Task[], counts: Record<InboxState, number>): void {
  for (const state of NOT_ENDED_STATES) {
    let afterId = 0
    tasks.push((db) => {
      const { count, last } = db.get<{ count: number; last: number | null }>(COUNT_NOT_ENDED, state, afterId)!
      counts[state] += count
      if (count === COUNTED_AT_ONCE) afterId = last!
      else tasks.pop()
    })
  }
  for (const state of ENDED_STATES) {
    let ranges: EndedRange[] | undefined
    tasks.push((db) => {
      ranges ??= rangesOf(db, state)
      if (ranges.length > 0) countLastRange(db, ranges, (_, __, count) => (counts[state] += count))
      if (ranges.length === 0) tasks.pop()
    })
  }
}

const NOT_ENDED_STATES = [
  'stored',
  'running',
  'retrying',
  'quarantined',
] as const satisfies readonly StoredState[]
const ENDED_STATES = ['handled', 'dead', 'discarded'] as const satisfies readonly StoredState[]

const COUNTED_AT_ONCE = 20_000
const COUNT_NOT_ENDED = `
  SELECT count(*) AS count, max(id) AS last FROM (
    SELECT id FROM entries WHERE state = ? AND finished_at IS NULL AND id > ? ORDER BY id LIMIT ${COUNTED_AT_ONCE}
  )`

function rangesOf(db: Reader, state: (typeof ENDED_STATES)[number]): EndedRange[] {
  const { first, last } = db.get<{ first: number | null; last: number | null }>(FIRST_AND_LAST, state)!
  if (first === null || last === null) return []
  return inParts([{ state, from: first, to: last + 1 }])
}

const FIRST_AND_LAST = `
  SELECT (SELECT min(finished_at) FROM entries WHERE state = ?1) AS first,
    (SELECT max(finished_at) FROM entries WHERE state = ?1) AS last`

/** Counts unhandled entries under that state instead of their stored one. Returns when the oldest other unfinished entry arrived. */
function countUnhandled(db: Reader, counts: Record<InboxState, number>): Date | undefined {
  const unhandled = JSON.stringify([...unhandledTypes(db)])
  const oldest = db.get<{ received_at: number }>(OLDEST_UNFINISHED, unhandled)
  for (const { state, count } of db.all<StateCount>(UNHANDLED_COUNTS, unhandled)) {
    counts[state] -= count
    counts.unhandled += count
  }
  return oldest && new Date(oldest.received_at)
}

interface StateCount {
  readonly state: StoredState
  readonly count: number
}

// The indexes contain the event type. Without `INDEXED BY`, SQLite would use the index on the states and read all waiting entries.
const UNHANDLED_COUNTS = `
  SELECT state, count(*) AS count FROM (
    SELECT state FROM json_each(?1) CROSS JOIN entries INDEXED BY entries_ready
    WHERE event_type = value AND ready = 1 AND begun_by = 0
    UNION ALL
    SELECT state FROM json_each(?1) CROSS JOIN entries INDEXED BY entries_begun
    WHERE event_type = value AND ready = 1 AND begun_by > 0
    UNION ALL
    SELECT state FROM json_each(?1) CROSS JOIN entries INDEXED BY entries_waiting
    WHERE event_type = value AND ready = 0 AND due_at IS NOT NULL
  ) WHERE state IN ('stored', 'retrying') GROUP BY state`

const OLDEST_UNFINISHED = `
  SELECT received_at FROM entries WHERE id = (
    SELECT min(id) FROM (
      SELECT min(id) AS id FROM entries
      WHERE state = 'stored' AND finished_at IS NULL AND event_type NOT IN (SELECT value FROM json_each(?1))
      UNION ALL SELECT min(id) FROM entries WHERE state = 'running' AND finished_at IS NULL
      UNION ALL SELECT min(id) FROM entries
      WHERE state = 'retrying' AND finished_at IS NULL AND event_type NOT IN (SELECT value FROM json_each(?1))
    )
  )`
