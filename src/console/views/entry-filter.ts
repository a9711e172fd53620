import { fromPrintable, printable } from '../../base/printable.js'
import type { EntryFilter } from '../../inbox/operations.js'
import type { InboxState } from '../../inbox/states.js'

/** The states in the order in which the pages show them: first those that need a decision. */
export const STATE_ORDER = [
  'dead',
  'quarantined',
  'unhandled',
  'retrying',
  'running',
  'stored',
  'handled',
  'discarded',
] as const satisfies readonly InboxState[]

/** The states that an entry leaves only by a decision, or when a handler is registered. */
export const NEEDS_DECISION: readonly InboxState[] = ['dead', 'quarantined', 'unhandled']

interface FilterField {
  readonly name: string
  readonly label: string
  readonly type: 'search' | 'datetime-local'
  readonly maxLength: number
}

export const FILTER_FIELDS: readonly FilterField[] = [
  { name: 'type', label: 'Event type', type: 'search', maxLength: 200 },
  { name: 'subscription', label: 'Subscription', type: 'search', maxLength: 500 },
  { name: 'key', label: 'Idempotency key', type: 'search', maxLength: 36 },
  { name: 'bodyId', label: 'Id of the body', type: 'search', maxLength: 200 },
  { name: 'reason', label: 'Reason contains', type: 'search', maxLength: 200 },
  { name: 'after', label: 'Received from (UTC)', type: 'datetime-local', maxLength: 30 },
  { name: 'before', label: 'Received before (UTC)', type: 'datetime-local', maxLength: 30 },
]

/** The filter in the address of a list. */
export interface ListQuery {
  readonly filter: EntryFilter
  /** The parts of the filter as they were written, for links and the form. */
  readonly parts: readonly (readonly [name: string, value: string])[]
  /** A message about a part of the filter that is not valid. */
  readonly problem?: string
}

export function listQuery(query: URLSearchParams): ListQuery {
  const given = query.getAll('state')
  const states = STATE_ORDER.filter((state) => given.includes(state))
  const hasUnknown = given.some((state) => !(STATE_ORDER as readonly string[]).includes(state))
  // The form has control characters as escapes, and sends them back.
  const text = (name: string): string | undefined => fromPrintable(query.get(name)?.trim() ?? '') || undefined
  const after = timeIn(text('after'))
  const before = timeIn(text('before'))
  const tooLong = FILTER_FIELDS.find(({ name, maxLength }) => (text(name)?.length ?? 0) > maxLength)
  const problem =
    (hasUnknown && 'One of the states does not exist.') ||
    (tooLong && `“${tooLong.label}” has more than ${tooLong.maxLength} characters.`) ||
    (Number.isNaN(after ?? 0) && '“Received from” is not a time such as 2026-11-03T09:14.') ||
    (Number.isNaN(before ?? 0) && '“Received before” is not a time such as 2026-11-03T09:14.') ||
    undefined
  const filter: EntryFilter = {
    states: states.length > 0 ? states : undefined,
    eventType: text('type'),
    subscriptionId: text('subscription'),
    idempotencyKey: text('key')?.toLowerCase(),
    bodyId: text('bodyId'),
    reason: text('reason'),
    // The inbox excludes the time `after`. The label says "from", which includes it.
    after: after === undefined ? undefined : after - 1,
    before,
  }
  const parts = [
    ...states.map((state) => ['state', state] as const),
    ...FILTER_FIELDS.flatMap(({ name }) => {
      const value = text(name)
      return value === undefined ? [] : [[name, value] as const]
    }),
  ]
  return { filter, parts, ...(problem === undefined ? {} : { problem }) }
}

/** What the form shows of a filter. A browser leaves a field for a time empty unless the text is such as `2026-11-03T09:14:00`. */
export function fieldText({ name, type }: FilterField, query: URLSearchParams): string {
  const text = query.get(name)?.trim() ?? ''
  const time = type === 'datetime-local' ? timeIn(text) : undefined
  if (time === undefined || Number.isNaN(time)) return printable(text)
  return new Date(time).toISOString().replace(/(?:\.000)?Z$/, '')
}

/** Milliseconds since 1970. A form sends a time without a zone, which is read as UTC. NaN if the text is not a time. */
function timeIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z?)?$/.test(text)) return Number.NaN
  return Date.parse(text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text)
}

/** The address of a page with these filters. */
export function hrefWith(
  page: string,
  parts: ListQuery['parts'],
  more: readonly [string, string][] = [],
): string {
  const query = new URLSearchParams([...parts, ...more] as [string, string][]).toString()
  return query === '' ? page : `${page}?${query}`
}
