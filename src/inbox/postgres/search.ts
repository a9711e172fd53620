import type { EntryId } from '../../callback/callback.js'
import { keyHashRange } from '../identity.js'
import type { EngineFilter } from '../engine.js'
import type { EntryCount, EntryPage, EntryList, EntrySummary } from '../operations.js'
import {
  CLOCK_MARGIN_MS,
  countInSteps,
  DEFAULT_PAGE_LIMIT,
  searchInSteps,
  type SearchStep,
} from '../search.js'
import type { InboxState } from '../states.js'
import { rowId } from './entry-id.js'
import { conditionsOf, given } from './filter.js'
import { SHOWN_COLUMNS, shownSummary, typesWithHandlers, type ShownSummaryRow } from './look.js'
import type { BigInteger } from '../stored-entry.js'
import { storedText } from './sql-text.js'
import { setLocal, type Transaction } from './transaction.js'

/** How many entries one step examines at most. */
const EXAMINED_BY_STEP = 20_000

/** `maxExamined`: see `searchInSteps`. Until the end of the transaction, the costs of the planner are those of a search. */
export async function search(
  tx: Transaction,
  filter: EngineFilter,
  page: EntryPage,
  maxExamined?: number,
): Promise<EntryList> {
  await costByEntries(tx)
  const handled = await typesWithHandlers(tx)
  const step = (afterId: EntryId | undefined, limit: number) =>
    searchStep(tx, filter, { ...page, afterId, limit }, handled)
  return searchInSteps(page, step, EXAMINED_BY_STEP, maxExamined)
}

/** Until the end of the transaction, the costs of the planner are those of a search. */
export async function count(tx: Transaction, filter: EngineFilter, max: number): Promise<EntryCount> {
  await costByEntries(tx)
  const handled = await typesWithHandlers(tx)
  return countInSteps(max, (afterId) => countStep(tx, filter, afterId, handled), EXAMINED_BY_STEP)
}

/**
 * Makes the planner compare plans by the number of entries that they read. The planner assumes that the entries of each state are spread
 * evenly over the table. So by default the server may read all entries in the order of their ids to find those of one state, because it
 * then reads each page of the table only once. After an outage, dead letters are beside each other, and it reads all entries before them.
 */
export async function costByEntries(tx: Transaction): Promise<void> {
  await tx.run(`SELECT ${setLocal({ seq_page_cost: '0', random_page_cost: '0' })}`)
}

/** The first entries that match, among the next `EXAMINED_BY_STEP` candidates. */
async function searchStep(
  tx: Transaction,
  filter: EngineFilter,
  { afterId, limit = DEFAULT_PAGE_LIMIT, newestFirst = false }: EntryPage,
  handled: string[] | null,
): Promise<SearchStep<EntrySummary[]>> {
  const values: unknown[] = [handled]
  const candidates = await candidatesOf(tx, filter, { afterId, newestFirst, values })
  if (candidates === undefined) return { found: [], next: undefined }
  const direction = newestFirst ? 'DESC' : ''
  const rows = await tx.all<ShownSummaryRow>(
    `SELECT ${SHOWN_COLUMNS} FROM ${candidates.rows} WHERE ${matching(filter, values)}
    ORDER BY id ${direction} LIMIT ${given(values, limit, 'bigint')}`,
    ...values,
  )
  const found = rows.map(shownSummary)
  return { found, next: found.length >= limit ? found.at(-1)?.id : candidates.last }
}

/** How many entries match, among the next `EXAMINED_BY_STEP` candidates. */
async function countStep(
  tx: Transaction,
  filter: EngineFilter,
  afterId: EntryId | undefined,
  handled: string[] | null,
): Promise<SearchStep<number>> {
  const values: unknown[] = [handled]
  const candidates = await candidatesOf(tx, filter, { afterId, newestFirst: false, values })
  if (candidates === undefined) return { found: 0, next: undefined }
  const [row] = await tx.all<{ count: BigInteger }>(
    `SELECT count(*) AS count, $1::text[] AS handled FROM ${candidates.rows} WHERE ${matching(filter, values)}`,
    ...values,
  )
  return { found: Number(row!.count), next: candidates.last }
}

interface CandidateOptions {
  readonly afterId: EntryId | undefined
  readonly newestFirst: boolean
  readonly values: unknown[]
}

/** The entries that one step examines. An index selects them. */
interface Candidates {
  /** SQL for the candidates, as a table with the columns of an entry. */
  readonly rows: string
  /** The last candidate in the order of the search. Undefined if there are no more candidates. */
  readonly last: EntryId | undefined
}

/** Undefined if there are no candidates. */
async function candidatesOf(
  tx: Transaction,
  filter: EngineFilter,
  { afterId, newestFirst, values }: CandidateOptions,
): Promise<Candidates | undefined> {
  const after = afterId === undefined ? undefined : rowId(afterId)
  if (afterId !== undefined && after === undefined) return undefined
  const bounds: string[] = []
  if (after !== undefined) bounds.push(`id ${newestFirst ? '<' : '>'} ${given(values, after, 'bigint')}`)
  if (filter.after !== undefined)
    bounds.push(
      `id >= ${given(values, await firstArrivedFrom(tx, filter.after - CLOCK_MARGIN_MS), 'bigint')}`,
    )
  if (filter.before !== undefined)
    bounds.push(
      `id < ${given(values, await firstArrivedFrom(tx, filter.before + CLOCK_MARGIN_MS), 'bigint')}`,
    )
  const sources = sourcesOf(filter, values)
  if (sources.length === 0) return undefined
  const first = `ORDER BY id ${newestFirst ? 'DESC' : ''} LIMIT ${EXAMINED_BY_STEP}`
  const candidates = (columns: string) =>
    sources.map(
      (source) => `(SELECT ${columns} FROM entries WHERE ${[source, ...bounds].join(' AND ')} ${first})`,
    )
  const ids = `SELECT id FROM (${candidates('id').join(' UNION ALL ')}) AS candidate ${first}`
  const [row] = await tx.all<{ count: BigInteger; last: BigInteger | null }>(
    `SELECT count(*) AS count, ${newestFirst ? 'min' : 'max'}(id) AS last, $1::text[] AS handled FROM (${ids}) AS ids`,
    ...values,
  )
  if (row!.last === null) return undefined
  // The candidates are read in the order of an index up to the last one: looking up each of them by its id takes four times as long.
  bounds.push(`id ${newestFirst ? '>=' : '<='} ${given(values, row!.last, 'bigint')}`)
  return {
    rows: `(${candidates('*').join(' UNION ALL ')}) AS entries`,
    last: Number(row!.count) < EXAMINED_BY_STEP ? undefined : String(row!.last),
  }
}

function matching(filter: EngineFilter, values: unknown[]): string {
  return conditionsOf(filter, values).join(' AND ') || 'true'
}

/** Conditions that together select all entries that can match. Each is served by an index in the order of ids. */
function sourcesOf({ idempotencyKey, bodyId, states }: EngineFilter, values: unknown[]): string[] {
  if (idempotencyKey !== undefined) {
    const [first, last] = keyHashRange(idempotencyKey)
    return [`key_hash BETWEEN ${given(values, first, 'bytea')} AND ${given(values, last, 'bytea')}`]
  }
  if (bodyId !== undefined)
    return [`body_id IS NOT NULL AND body_id = ${given(values, storedText(bodyId), 'text')}`]
  if (!states || states.includes('handled')) return ['true']
  const stored = new Set(states.flatMap((state) => (state === 'unhandled' ? UNHANDLED : [state])))
  return [...stored].map((state) => `state = '${state}' AND state <> 'handled'`)
}

const UNHANDLED = ['stored', 'retrying'] as const satisfies readonly InboxState[]

/** The first id whose entry arrived at this time or later, found by bisection. If there is none, the last id plus one. */
async function firstArrivedFrom(tx: Transaction, at: number): Promise<string> {
  const [row] = await tx.all<{ low: BigInteger }>(FIRST_ARRIVED_FROM, at)
  return row ? String(row.low) : '0'
}

const IS_EARLIER = 'probe.id < high AND probe.received_at < $1::float8'
const FIRST_ARRIVED_FROM = `
  WITH RECURSIVE narrowed (low, high) AS (
    SELECT min(id), max(id) + 1 FROM entries
    UNION ALL
    SELECT CASE WHEN ${IS_EARLIER} THEN probe.id + 1 ELSE low END,
      CASE WHEN ${IS_EARLIER} THEN high ELSE (low + high) / 2 END
    FROM narrowed LEFT JOIN LATERAL (
      SELECT id, received_at FROM entries WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1
    ) AS probe ON true
    WHERE low < high
  )
  SELECT low FROM narrowed WHERE low >= high`
