import type { ActivityState } from '../activity.js'
import type { Reader } from './read-inbox-file.js'

/** The entries of a state that ended in a time range, or that arrived in it for `quarantined`. `to` is not included. */
export interface EndedRange {
  readonly state: ActivityState
  readonly from: number
  readonly to: number
}

/** How many entries one count reads at most. A range with more entries is counted in two halves. */
export const MAX_COUNTED = 5_000

/** With this many parts, only few of them have to be counted in halves. */
const MIN_PARTS = 64

/** Divides the ranges into about `MIN_PARTS` parts or more in total. No part is in two ranges. */
export function inParts(ranges: readonly EndedRange[]): EndedRange[] {
  const parts = Math.ceil(MIN_PARTS / ranges.length)
  return ranges.flatMap(({ state, from, to }) => {
    const width = Math.ceil((to - from) / parts)
    const count = Math.ceil((to - from) / width)
    return Array.from({ length: count }, (_, index) => {
      const start = from + index * width
      return { state, from: start, to: Math.min(to, start + width) }
    })
  })
}

/** Counts the last range and removes it, or replaces it by its two halves. If the count throws, the list is unchanged. */
export function countLastRange(
  db: Reader,
  ranges: EndedRange[],
  add: (state: ActivityState, from: number, count: number) => void,
): void {
  const { state, from, to } = ranges.at(-1)!
  const limit = to - from > 1 ? MAX_COUNTED + 1 : -1
  const { count } = db.get<{ count: number }>(COUNT[state], from, to, limit)!
  ranges.pop()
  if (limit < 0 || count < limit) return add(state, from, count)
  const middle = Math.floor((from + to) / 2)
  ranges.push({ state, from: middle, to }, { state, from, to: middle })
}

// Without `INDEXED BY`, SQLite would choose the index on the states for each of them.
const COUNT: Readonly<Record<ActivityState, string>> = {
  handled: counting('entries_by_state', "state = 'handled'", 'finished_at'),
  dead: counting('entries_by_state', "state = 'dead'", 'finished_at'),
  discarded: counting('entries_by_state', "state = 'discarded'", 'finished_at'),
  quarantined: counting('entries_quarantined', "state = 'quarantined'", 'received_at'),
}

function counting(index: string, where: string, at: string): string {
  const rows = `SELECT 1 FROM entries INDEXED BY ${index} WHERE ${where} AND ${at} >= ? AND ${at} < ? LIMIT ?`
  return `SELECT count(*) AS count FROM (${rows})`
}
