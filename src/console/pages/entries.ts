import type { EntryId } from '../../callback/callback.js'
import type { EntryPage, EntrySummary, OperatorDecision } from '../../inbox/operations.js'
import { BULK_DECISIONS, isBulkPossible } from '../views/bulk-decisions.js'
import {
  fieldText,
  FILTER_FIELDS,
  hrefWith,
  listQuery,
  STATE_ORDER,
  type ListQuery,
} from '../views/entry-filter.js'
import { entryRow } from '../views/entry-row.js'
import { numberText } from '../views/time.js'
import { html } from '../answer.js'
import type { ConsoleParts, ReadPage, Visit } from '../page.js'

const PAGE_SIZE = 50
/** How many new entries the line above the list counts at most. */
const MAX_NEW = 100

/** One page of a list, the newest entry first. `from` and `to` are the entries before and after those of the page. */
interface ListPage {
  readonly entries: readonly EntrySummary[]
  /** The entry after which an older page begins. */
  readonly olderFrom: EntryId | undefined
  readonly newerTo: EntryId | undefined
  /** In which direction there may be further entries, if the inbox examined as many as one search may before the page was full. */
  readonly unfinished: 'older' | 'newer' | undefined
}

export const entriesPage: ReadPage = async (parts, visit) => {
  const { query } = visit.request
  const list = listQuery(query)
  const { entries, olderFrom, newerTo, unfinished } = list.problem
    ? NOTHING
    : await pageOf(parts, list, query)
  const isFirst = !query.has('from') && !query.has('to')
  const states = list.parts.flatMap(([name, value]) => (name === 'state' ? [value] : []))
  const frame = { ...visit.frame, title: 'Entries', current: 'entries', isLive: true }
  return html(
    parts.renderer.page('entries', frame, {
      states: STATE_ORDER.map((name) => ({ name, isChosen: states.includes(name) })),
      fields: FILTER_FIELDS.map((field) => ({ ...field, value: fieldText(field, query) })),
      problem: list.problem,
      rows: entries.map(entryRow),
      empty: entries.length === 0 && !list.problem ? emptyText(isFirst, unfinished) : undefined,
      liveHref: isFirst && !list.problem ? liveHref(list, entries) : undefined,
      newerHref: newerTo === undefined ? undefined : hrefWith('entries', list.parts, [['to', newerTo]]),
      olderHref: olderFrom === undefined ? undefined : hrefWith('entries', list.parts, [['from', olderFrom]]),
      newerText: unfinished === 'newer' ? 'Search further' : 'Newer',
      olderText: unfinished === 'older' ? 'Search further' : 'Older',
      bulk: bulkLinks(visit, list),
    }),
    list.problem ? 400 : 200,
  )
}

/** New entries are counted above the list and not inserted: an operator could otherwise click on a row that has just moved. */
export const liveEntries: ReadPage = async (parts, visit) => {
  const { query } = visit.request
  const list = listQuery(query)
  if (list.problem !== undefined) return html('', 400)
  const ids = query.getAll('id').slice(0, PAGE_SIZE)
  const search = (page: EntryPage) => parts.inbox.list(list.filter, page)
  // A page without rows has no entry to continue from.
  const newer = await search({ afterId: ids[0], newestFirst: ids.length === 0, limit: MAX_NEW })
  // The rows, beginning with the first. Entries that have come into the list since may be among them.
  const afterId = newer.entries[0]?.id ?? newer.next
  const rows = await search({ afterId, newestFirst: true, limit: ids.length + MAX_NEW })
  const newCount = newer.entries.length + countBetween(rows.entries, ids)
  const byId = new Map(rows.entries.map((entry) => [entry.id, entry]))
  const view = {
    news: newCount === 0 ? '' : `${numberText(newCount)}${newCount >= MAX_NEW ? ' or more' : ''} new`,
    newestHref: hrefWith('entries', list.parts),
    rows: ids.map((id, index) => {
      const entry = byId.get(id)
      return { index, state: entry?.state, attempts: entry?.attempts }
    }),
  }
  return html(parts.renderer.fragment('liveEntries', view))
}

/** How many entries have come into the list after newer ones, such as an old entry that is dead now. */
function countBetween(entries: readonly EntrySummary[], ids: readonly EntryId[]): number {
  // The entries of a list without rows were counted already.
  if (ids.length === 0) return 0
  const isRow = ({ id }: EntrySummary) => ids.includes(id)
  // Below the last row of a full page are those of the next page.
  const end = ids.length < PAGE_SIZE ? entries.length : entries.findLastIndex(isRow) + 1
  return entries.slice(0, end).filter((entry) => !isRow(entry)).length
}

/** Another page than the first one says nothing about the entries of the pages before. */
function emptyText(isFirst: boolean, unfinished: ListPage['unfinished']): string {
  const none = isFirst ? 'No entry' : 'No further entry'
  return unfinished
    ? `${none} was found so far. The search was ended before it had examined all entries.`
    : `${none} matches.`
}

const NOTHING: ListPage = { entries: [], olderFrom: undefined, newerTo: undefined, unfinished: undefined }

async function pageOf(
  parts: Pick<ConsoleParts, 'inbox'>,
  list: Pick<ListQuery, 'filter'>,
  query: URLSearchParams,
): Promise<ListPage> {
  const to = query.get('to')
  return to === null ? olderThan(query.get('from') ?? undefined, parts, list) : newerThan(to, parts, list)
}

async function olderThan(
  from: EntryId | undefined,
  { inbox }: Pick<ConsoleParts, 'inbox'>,
  { filter }: Pick<ListQuery, 'filter'>,
): Promise<ListPage> {
  const page = { afterId: from, newestFirst: true, limit: PAGE_SIZE }
  const { entries, next } = await inbox.list(filter, page)
  return {
    entries,
    olderFrom: next,
    newerTo: from === undefined ? undefined : (entries[0]?.id ?? from),
    unfinished: next !== undefined && entries.length < PAGE_SIZE ? 'older' : undefined,
  }
}

async function newerThan(
  to: EntryId,
  parts: Pick<ConsoleParts, 'inbox'>,
  list: Pick<ListQuery, 'filter'>,
): Promise<ListPage> {
  const { entries: found, next } = await parts.inbox.list(list.filter, {
    afterId: to,
    limit: PAGE_SIZE,
  })
  const entries = found.toReversed()
  // If there are no newer entries, this shows the first page.
  if (entries.length === 0 && next === undefined) return olderThan(undefined, parts, list)
  const unfinished = next !== undefined && entries.length < PAGE_SIZE ? 'newer' : undefined
  return { entries, olderFrom: entries.at(-1)?.id ?? to, newerTo: next, unfinished }
}

function liveHref({ parts }: ListQuery, entries: readonly EntrySummary[]): string {
  return hrefWith(
    'live/entries',
    parts,
    entries.map(({ id }) => ['id', id]),
  )
}

function bulkLinks({ operator }: Visit, list: ListQuery) {
  if (operator.role !== 'decide') return []
  return (Object.keys(BULK_DECISIONS) as OperatorDecision[])
    .filter((decision) => isBulkPossible(decision, list))
    .map((decision) => ({
      text: BULK_DECISIONS[decision].title,
      href: hrefWith('decide', list.parts, [['action', decision]]),
    }))
}
