import type { EntryId } from '../../callback/callback.js'
import { keyHashRange } from '../identity.js'
import type { EngineFilter } from '../engine.js'
import type { EntryPage, EntrySummary } from '../operations.js'
import { CLOCK_MARGIN_MS, DEFAULT_PAGE_LIMIT, type SearchStep } from '../search.js'
import type { InboxState } from '../states.js'
import { conditionsOf, HAS_BODY_ID, joined, type Condition } from './filter.js'
import { unhandledTypes } from './handled-types.js'
import { SHOWN_COLUMNS, shownSummary, type ShownSummaryRow } from './operator.js'
import { packUuid } from './packed-uuid.js'
import type { Reader } from './read-inbox-file.js'
import { entryIdOf, rowIdOf } from './row-id.js'

/** How many entries one step examines at most. A step of this size blocks the event loop for a few milliseconds. */
export const EXAMINED_BY_STEP = 2_000

/** The first entries that match, among the next `EXAMINED_BY_STEP` candidates. */
export function searchStep(
  db: Reader,
  filter: EngineFilter,
  { afterId, limit = DEFAULT_PAGE_LIMIT, newestFirst = false }: EntryPage,
): SearchStep<EntrySummary[]> {
  const unhandled = unhandledTypes(db)
  const candidates = candidatesOf(db, filter, afterId, newestFirst)
  if (!candidates) return { found: [], next: undefined }
  const { where, values } = joined([candidates.isOne, ...conditionsOf(filter, unhandled)])
  const order = newestFirst ? 'id DESC' : 'id'
  const sql = `SELECT ${SHOWN_COLUMNS} FROM entries NOT INDEXED JOIN sources ON number = source WHERE ${where} ORDER BY ${order} LIMIT ?`
  const found = db.all<ShownSummaryRow>(sql, ...values, limit).map((row) => shownSummary(row, unhandled))
  return { found, next: found.length >= limit ? found.at(-1)?.id : candidates.last }
}

/** How many entries match, among the next `EXAMINED_BY_STEP` candidates. */
export function countStep(
  db: Reader,
  filter: EngineFilter,
  afterId: EntryId | undefined,
): SearchStep<number> {
  const candidates = candidatesOf(db, filter, afterId, false)
  if (!candidates) return { found: 0, next: undefined }
  const { where, values } = joined([candidates.isOne, ...conditionsOf(filter, unhandledTypes(db))])
  const { count } = db.get<{ count: number }>(
    `SELECT count(*) AS count FROM entries NOT INDEXED WHERE ${where}`,
    ...values,
  )!
  return { found: count, next: candidates.last }
}

/** The entries that one step examines. An index selects them. */
interface Candidates {
  /** The condition that an entry is a candidate. */
  readonly isOne: Condition
  /** The last candidate in the order of the search. Undefined if there are no more candidates. */
  readonly last: EntryId | undefined
}

/** Undefined if there are no candidates. */
function candidatesOf(
  db: Reader,
  filter: EngineFilter,
  afterId: EntryId | undefined,
  newestFirst: boolean,
): Candidates | undefined {
  const after = afterId === undefined ? undefined : rowIdOf(afterId)
  if (afterId !== undefined && after === undefined) return undefined
  const range = idRange(db, filter)
  if (after !== undefined) {
    if (newestFirst) range.to = Math.min(range.to, after)
    else range.from = Math.max(range.from, after + 1)
  }
  const order = newestFirst ? 'id DESC' : 'id'
  const selected = sourcesOf(filter)
  const sources = selected.map(([table, where, ...values]): Condition => {
    const sql = `SELECT id FROM entries ${table} WHERE ${where} AND id >= ? AND id < ? ORDER BY ${order} LIMIT ?`
    return [`SELECT * FROM (${sql})`, ...values, range.from, range.to, EXAMINED_BY_STEP]
  })
  if (sources.length === 0) return undefined
  const ids = `${sources.map(([sql]) => sql).join(' UNION ALL ')} ORDER BY ${order} LIMIT ?`
  const values = [...sources.flatMap(([, ...given]) => given), EXAMINED_BY_STEP]
  const { count, last } = db.get<{ count: number; last: number | null }>(
    `SELECT count(*) AS count, ${newestFirst ? 'min' : 'max'}(id) AS last FROM (${ids})`,
    ...values,
  )!
  if (last === null) return undefined
  // Reads all entries of a range: looking up each of them by its id takes twice as long.
  const examined = newestFirst ? [last, range.to - 1] : [range.from, last]
  return {
    isOne: selected[0] === ALL ? ['id BETWEEN ? AND ?', ...examined] : [`id IN (${ids})`, ...values],
    last: count < EXAMINED_BY_STEP ? undefined : entryIdOf(last),
  }
}

/**
 * The index that SQLite must use, and a condition with its values. Without the name of the index SQLite may choose another one,
 * and then read and sort many more entries.
 */
type Source = readonly [index: string, ...condition: Condition]

/** Sources that together contain all entries that can match. Each has them in the order of ids. */
function sourcesOf({ idempotencyKey, bodyId, states }: EngineFilter): Source[] {
  if (idempotencyKey !== undefined) {
    // This index is in the order of keys. Only a few entries share a key, so they are sorted.
    return [['INDEXED BY entries_by_key', 'key_hash BETWEEN ? AND ?', ...keyHashRange(idempotencyKey)]]
  }
  if (bodyId !== undefined) return [['NOT INDEXED', HAS_BODY_ID, packUuid(bodyId)]]
  // Most entries are handled. The index on the states has handled entries in the order of their ends, not of their ids.
  if (!states || states.includes('handled')) return [ALL]
  const stored = new Set(states.flatMap((state) => STORED_AS[state]))
  return [...stored].map((state) => [...SOURCE[state], state])
}

const ALL: Source = ['NOT INDEXED', 'true']

const STORED_AS: Readonly<Record<InboxState, readonly UnfinishedState[]>> = {
  stored: ['stored'],
  running: ['running'],
  retrying: ['retrying'],
  unhandled: ['stored', 'retrying'],
  quarantined: ['quarantined'],
  dead: ['dead'],
  discarded: ['discarded'],
  handled: [],
}

type UnfinishedState = Exclude<InboxState, 'handled' | 'unhandled'>

const NOT_ENDED = ['INDEXED BY entries_by_state', 'state = ? AND finished_at IS NULL'] as const
const ENDED = ['INDEXED BY entries_ended', "state IN ('dead', 'discarded') AND state = ?"] as const

const SOURCE: Readonly<Record<UnfinishedState, typeof NOT_ENDED | typeof ENDED>> = {
  stored: NOT_ENDED,
  running: NOT_ENDED,
  retrying: NOT_ENDED,
  quarantined: NOT_ENDED,
  dead: ENDED,
  discarded: ENDED,
}

/** A range of ids that contains all entries of the time range. `to` is not included. */
function idRange(db: Reader, { before, after }: EngineFilter): { from: number; to: number } {
  return {
    from: after === undefined ? 0 : firstArrivedFrom(db, after - CLOCK_MARGIN_MS),
    to: before === undefined ? Number.MAX_SAFE_INTEGER : firstArrivedFrom(db, before + CLOCK_MARGIN_MS),
  }
}

/** The first id whose entry arrived at this time or later, found by bisection. If there is none, the last id plus one. */
function firstArrivedFrom(db: Reader, at: number): number {
  const { first, last } = db.get<{ first: number | null; last: number | null }>(FIRST_AND_LAST)!
  let from = first ?? 0
  let to = (last ?? 0) + 1
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const entry = db.get<{ id: number; received_at: number }>(NEXT, middle)
    if (!entry || entry.id >= to || entry.received_at >= at) to = middle
    else from = entry.id + 1
  }
  return from
}

const FIRST_AND_LAST = 'SELECT (SELECT min(id) FROM entries) AS first, (SELECT max(id) FROM entries) AS last'
const NEXT = 'SELECT id, received_at FROM entries WHERE id >= ? ORDER BY id LIMIT 1'
