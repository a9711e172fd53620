import type { EntryId } from '../../callback/callback.js'
import { hexOf, keyHashRange } from '../identity.js'
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
import { conditionsOf, given, wholeEntries } from './filter.js'
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
  const ids = `SELECT id FROM ${candidates.rows} ORDER BY id ${direction} LIMIT ${given(values, limit, 'bigint')}`
  const rows = await tx.all<ShownSummaryRow>(
    `SELECT ${SHOWN_COLUMNS} FROM ${wholeEntries(`entries.id = ANY (ARRAY(${ids}))`)} ORDER BY id ${direction}`,
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
    `SELECT count(*) AS count, $1::bigint[] AS handled FROM ${candidates.rows}`,
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
  /** SQL for the ids of the candidates that match, as a table. */
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
  const firstFrom = async (at: number) => given(values, await firstArrivedFrom(tx, at), 'bigint')
  if (filter.after !== undefined) bounds.push(`id >= ${await firstFrom(filter.after - CLOCK_MARGIN_MS)}`)
  if (filter.before !== undefined) bounds.push(`id < ${await firstFrom(filter.before + CLOCK_MARGIN_MS)}`)
  const sources = sourcesOf(filter, values)
  if (sources.length === 0) return undefined
  const first = `ORDER BY id ${newestFirst ? 'DESC' : ''} LIMIT ${EXAMINED_BY_STEP}`
  const candidates = sources.map(
    ({ table, where }, index) =>
      `(SELECT ${index} AS source, id FROM ${table} WHERE ${[where, ...bounds].join(' AND ')} ${first})`,
  )
  const ids = `SELECT source, id FROM (${candidates.join(' UNION ALL ')}) AS candidate ${first}`
  // The one that ends last in the order of the search comes first.
  const ranges = await tx.all<RangeRow>(
    `SELECT source, count(*) AS count, min(id) AS least_id, max(id) AS largest_id, $1::bigint[] AS handled FROM (${ids}) AS ids
    GROUP BY source ORDER BY ${newestFirst ? 'least_id' : 'largest_id DESC'}`,
    ...values,
  )
  if (!ranges[0]) return undefined
  const { states, ...others } = filter
  const matching = conditionsOf(sources.some(({ ofState }) => ofState) ? others : filter, values)
  // Where all entries are candidates, their states are joined as a whole: looking up each of them takes three times as long.
  const isJoined = states !== undefined || filter.reason !== undefined
  const rows = ranges.map(({ source, least_id: least, largest_id: largest }) => {
    const { table, where, isEach, ofState = 'true' } = sources[source]!
    const between = `id BETWEEN ${given(values, least, 'bigint')} AND ${given(values, largest, 'bigint')}`
    const entries = wholeEntries(where, {
      // The candidates are read in the order of an index, between the first and the last one: looking up each of them by its id takes
      // four times as long, and so may reading what was stored after them.
      bounds: [...bounds, between],
      fence: isEach && isJoined ? 'OFFSET 0' : '',
      ...(table !== 'entries' && { table }),
    })
    return `SELECT id FROM ${entries} WHERE ${[ofState, ...matching].join(' AND ')}`
  })
  const count = ranges.reduce((sum, range) => sum + Number(range.count), 0)
  return {
    rows: `(${rows.join(' UNION ALL ')}) AS found`,
    last:
      count < EXAMINED_BY_STEP ? undefined : String(newestFirst ? ranges[0].least_id : ranges[0].largest_id),
  }
}

/** The candidates of one source. */
interface RangeRow {
  readonly source: number
  readonly count: BigInteger
  readonly least_id: BigInteger
  readonly largest_id: BigInteger
}

interface Source {
  readonly table: 'entries' | 'due' | 'ended'
  readonly where: string
  /** Whether nearly every entry is one. */
  readonly isEach?: boolean
  /**
   * SQL for the condition that a candidate has one of the states of the filter. The planner expects that few entries meet a comparison with
   * `SHOWN_STATE`, and then reads many more than it would have to.
   */
  readonly ofState?: string
}

/**
 * Conditions that together select all entries that can match. Each is served by an index, in the order of ids unless it has few entries.
 */
function sourcesOf({ idempotencyKey, bodyId, states }: EngineFilter, values: unknown[]): Source[] {
  if (idempotencyKey !== undefined) {
    const [first, last] = keyHashRange(idempotencyKey)
    const where = `key_hash BETWEEN ${given(values, hexOf(first), 'uuid')} AND ${given(values, hexOf(last), 'uuid')}`
    return ['kind = 0', 'kind = 2'].map((kind) => ({ table: 'entries', where: `${where} AND ${kind}` }))
  }
  if (bodyId !== undefined)
    return [
      {
        table: 'entries',
        where: `body_id IS NOT NULL AND hashtextextended(body_id, 0) = hashtextextended(${given(values, storedText(bodyId), 'text')}, 0)`,
      },
    ]
  if (!states || states.includes('handled')) return [{ table: 'entries', where: 'kind <> 1', isEach: true }]
  return [
    ...ENDED.filter((state) => states.includes(state)).map(endedAs),
    ...(states.includes('running') ? RUNNING : []),
    ...WAITING.flatMap((state) => waitingAs(state, states)),
  ]
}

const ENDED = ['dead', 'discarded', 'quarantined'] as const satisfies readonly InboxState[]
const WAITING = ['stored', 'retrying'] as const satisfies readonly InboxState[]

function endedAs(state: InboxState): Source {
  return { table: 'ended', where: `ended.state = '${state}' AND ended.state <> 'handled'`, ofState: 'true' }
}

/** Each part has an index of its own. */
const RUNNING = ['due.begun_by = 0', 'due.ready AND due.begun_by > 0'].map((begun): Source => ({
  table: 'due',
  where: `due.state = 'running' AND ${begun}`,
  ofState: 'true',
}))

function waitingAs(state: InboxState, states: readonly InboxState[]): Source[] {
  const [wantsState, wantsUnhandled] = [states.includes(state), states.includes('unhandled')]
  if (!wantsState && !wantsUnhandled) return []
  const ofState = wantsState && wantsUnhandled ? 'true' : wantsState ? `NOT ${IS_UNHANDLED}` : IS_UNHANDLED
  return [{ table: 'due', where: `due.state = '${state}'`, ofState }]
}

const IS_UNHANDLED = 'coalesce(type <> ALL ($1::bigint[]), false)'

/** The first id whose entry arrived at this time or later, found by bisection. If there is none, the last id plus one. */
async function firstArrivedFrom(tx: Transaction, at: number): Promise<string> {
  const [row] = await tx.all<{ low: BigInteger }>(FIRST_ARRIVED_FROM, at)
  return row ? String(row.low) : '0'
}

const IS_EARLIER = 'probe.id < high AND probe.received_at < $1::float8'
const FIRST_ARRIVED_FROM = `
  WITH RECURSIVE narrowed (low, high) AS (
    SELECT min(id), max(id) + 1 FROM entries WHERE id > 0
    UNION ALL
    SELECT CASE WHEN ${IS_EARLIER} THEN probe.id + 1 ELSE low END,
      CASE WHEN ${IS_EARLIER} THEN high ELSE (low + high) / 2 END
    FROM narrowed LEFT JOIN LATERAL (
      SELECT id, received_at FROM entries WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1
    ) AS probe ON true
    WHERE low < high
  )
  SELECT low FROM narrowed WHERE low >= high`
