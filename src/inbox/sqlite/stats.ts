import { NO_ENTRIES } from '../states.js'
import type { InboxStats } from '../operations.js'
import type { InboxState, StoredState } from '../states.js'
import { countLastRange, inParts, MAX_COUNTED, type EndedRange } from './count-ended.js'
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

/** A part of the count, which each call continues by a bounded amount of work. It returns whether it is complete. */
type Task = (db: Reader) => boolean

class Counting {
  readonly #counts = { ...NO_ENTRIES }
  /** The last one is next. */
  readonly #tasks: Task[] = [
    (db) => this.#findOldest(db),
    ...ENDED_STATES.map((state) => this.#endedTask(state)),
    this.#quarantinedTask(),
    ...UNFINISHED_STATES.map((state) => this.#unfinishedTask(state)),
    (db) => this.#findTypes(db),
  ]
  /** The types that no worker has a handler for, as JSON. Undefined if there are none. */
  #unhandledTypes: string | undefined
  #oldestId = Infinity
  #oldestUnfinished: Date | undefined

  get isDone(): boolean {
    return this.#tasks.length === 0
  }

  step(db: Reader): void {
    if (this.#tasks.at(-1)!(db)) this.#tasks.pop()
  }

  result(): InboxStats {
    return { counts: this.#counts, oldestUnfinishedAt: this.#oldestUnfinished }
  }

  #findTypes(db: Reader): boolean {
    const types = [...unhandledTypes(db)]
    if (types.length > 0) this.#unhandledTypes = JSON.stringify(types)
    return true
  }

  /** Counts unhandled entries under that state instead of their stored one. */
  #unfinishedTask(state: (typeof UNFINISHED_STATES)[number]): Task {
    let afterId = 0
    return (db) => {
      const types = state === 'running' ? undefined : this.#unhandledTypes
      const [sql, limit, ...values] =
        types === undefined
          ? ([COUNT_BY_INDEX, MAX_COUNTED] as const)
          : ([COUNT_WITH_TYPES, MAX_LOOKED_UP, types] as const)
      const found = db.get<UnfinishedRow>(sql, state, afterId, limit, ...values)!
      this.#counts[state] += found.examined - found.unhandled
      this.#counts.unhandled += found.unhandled
      this.#oldestId = Math.min(this.#oldestId, found.first ?? Infinity)
      afterId = found.last ?? afterId
      return found.examined < limit
    }
  }

  #quarantinedTask(): Task {
    let afterId = 0
    return (db) => {
      const { examined, last } = db.get<UnfinishedRow>(COUNT_BY_INDEX, 'quarantined', afterId, MAX_COUNTED)!
      this.#counts.quarantined += examined
      afterId = last ?? afterId
      return examined < MAX_COUNTED
    }
  }

  #endedTask(state: (typeof ENDED_STATES)[number]): Task {
    let ranges: EndedRange[] | undefined
    return (db) => {
      ranges ??= rangesOf(db, state)
      if (ranges.length > 0) countLastRange(db, ranges, (_, __, count) => (this.#counts[state] += count))
      return ranges.length === 0
    }
  }

  #findOldest(db: Reader): boolean {
    const oldest = Number.isFinite(this.#oldestId)
      ? db.get<{ received_at: number }>('SELECT received_at FROM entries WHERE id = ?', this.#oldestId)
      : undefined
    this.#oldestUnfinished = oldest && new Date(oldest.received_at)
    return true
  }
}

const UNFINISHED_STATES = ['stored', 'running', 'retrying'] as const satisfies readonly StoredState[]
const ENDED_STATES = ['handled', 'dead', 'discarded'] as const satisfies readonly InboxState[]

interface UnfinishedRow {
  /** How many entries were read. With fewer than the limit there are no more. */
  readonly examined: number
  readonly unhandled: number
  /** The first one that is not unhandled. */
  readonly first: number | null
  readonly last: number | null
}

const COUNT_BY_INDEX = `
  SELECT count(*) AS examined, 0 AS unhandled, min(id) AS first, max(id) AS last FROM (
    SELECT id FROM entries INDEXED BY entries_by_state
    WHERE state = ?1 AND finished_at IS NULL AND id > ?2 ORDER BY id LIMIT ?3
  )`

/** Fewer, because the index does not contain the event type: each entry is looked up in the table. */
const MAX_LOOKED_UP = 1_000
const COUNT_WITH_TYPES = `
  SELECT count(*) AS examined, total(is_unhandled) AS unhandled, min(iif(is_unhandled, NULL, id)) AS first, max(id) AS last FROM (
    SELECT id, event_type IN (SELECT value FROM json_each(?4)) AS is_unhandled FROM entries INDEXED BY entries_by_state
    WHERE state = ?1 AND finished_at IS NULL AND id > ?2 ORDER BY id LIMIT ?3
  )`

function rangesOf(db: Reader, state: (typeof ENDED_STATES)[number]): EndedRange[] {
  const { first, last } = db.get<{ first: number | null; last: number | null }>(FIRST_AND_LAST, state)!
  if (first === null || last === null) return []
  return inParts([{ state, from: first, to: last + 1 }])
}

const FIRST_AND_LAST = `
  SELECT (SELECT min(finished_at) FROM entries WHERE state = ?1) AS first,
    (SELECT max(finished_at) FROM entries WHERE state = ?1) AS last`
