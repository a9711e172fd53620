import {
  checkKnownOptions,
  integerOption,
  kindOf,
  objectOption,
  refuseOption,
} from '../base/option-checks.js'
import type { EntryId } from '../callback/callback.js'
import type {
  ActOptions,
  ActResult,
  EntryFilter,
  EntrySummary,
  InboxOperations,
  OperatorAction,
  SeenEntry,
} from './operations.js'
import { checkAction, checkFilter } from './operation-checks.js'
import { decisionOf } from './operator-action.js'
import { MOVES, type InboxState } from './states.js'

/** How many entries one bulk decision changes at most. */
const MAX_MATCHING = 1_000
/** How many decisions run at the same time. A PostgreSQL inbox needs a connection for each. */
const AT_ONCE = 8

export interface PreviewOptions {
  /** How many entries at most, from 1 to 1,000. @default 1_000 */
  readonly limit?: number | undefined
}

/** The entries that a bulk decision would change. */
export interface MatchingPreview {
  /** The entries, oldest first. Pass them to `actOnMatching`. */
  readonly entries: readonly EntrySummary[]
  /** Whether more entries match, or may match because they were not examined. */
  readonly more: boolean
}

/** The result of a bulk decision. */
export interface MatchingResult {
  /** One result for each decision, in the order of the entries. */
  readonly results: readonly MatchedResult[]
  /** How many decisions were carried out, and how many were refused, by code. */
  readonly counts: Readonly<Record<'done' | Extract<ActResult, { done: false }>['code'], number>>
  /** Set if the inbox failed. For the entries in `remaining` the decision was not carried out, or its result is unknown. */
  readonly failed?: { readonly error: unknown; readonly remaining: readonly EntryId[] } | undefined
}

/** An entry of a preview. */
export type MatchedEntry = Pick<EntrySummary, 'id'> & SeenEntry

export type MatchedResult = { readonly id: EntryId } & ActResult

/**
 * Finds the entries that match a filter and whose state allows the action. `retry` never finds handled entries.
 * @throws CountersignError ERR_OPTION_UNKNOWN, ERR_OPTION_INVALID; or the error of the inbox
 */
export async function previewMatching(
  operations: Pick<InboxOperations, 'search'>,
  filter: EntryFilter,
  action: OperatorAction,
  options: PreviewOptions = {},
): Promise<MatchingPreview> {
  const owner = 'previewMatching'
  objectOption(owner, 'operations', operations, ['search'])
  checkFilter(owner, filter)
  checkAction(owner, action)
  checkKnownOptions(owner, options, ['limit'])
  const limit = integerOption(owner, 'limit', options.limit, {
    fallback: MAX_MATCHING,
    min: 1,
    max: MAX_MATCHING,
  })
  const states = (filter.states ?? BULK_STATES[action]).filter((state) => BULK_STATES[action].includes(state))
  const entries: EntrySummary[] = []
  let afterId: EntryId | undefined
  for (let page = 0; page < MAX_PAGES && entries.length < limit; page++) {
    const found = await operations.search({ ...filter, states }, { afterId, limit: limit - entries.length })
    entries.push(...found.entries)
    afterId = found.next
    if (afterId === undefined) return { entries, more: false }
  }
  return { entries, more: true }
}

/**
 * Carries out an operator's decision on each of the entries that `previewMatching` found. Entries that match the filter only since
 * then, and entries that have changed since, are not touched. `act` accepts or refuses the decision on each entry separately.
 * Without `again`, no callback is handled a second time.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export async function actOnMatching(
  operations: Pick<InboxOperations, 'act'>,
  entries: readonly MatchedEntry[],
  action: OperatorAction,
  by: string,
  options: Omit<ActOptions, 'expected'> = {},
): Promise<MatchingResult> {
  const owner = 'actOnMatching'
  objectOption(owner, 'operations', operations, ['act'])
  refuseOption(owner, 'entries', entriesProblem(entries))
  checkAction(owner, action)
  decisionOf(by, options)
  const results: MatchedResult[] = []
  const counts = { done: 0, 'not-found': 0, changed: 0, state: 0, repeat: 0 }
  for (let start = 0; start < entries.length; start += AT_ONCE) {
    const batch = entries.slice(start, start + AT_ONCE)
    const ended = await Promise.allSettled(
      batch.map((entry) => operations.act(entry.id, action, by, { ...options, expected: entry })),
    )
    for (const [index, each] of ended.entries()) {
      if (each.status === 'rejected') continue
      results.push({ id: batch[index]!.id, ...each.value })
      counts[each.value.done ? 'done' : each.value.code]++
    }
    const failure = ended.find((each) => each.status === 'rejected')
    if (failure) {
      const failed = batch.filter((_, index) => ended[index]!.status === 'rejected')
      const remaining = [...failed, ...entries.slice(start + AT_ONCE)].map(({ id }) => id)
      return { results, counts, failed: { error: failure.reason, remaining } }
    }
  }
  return { results, counts }
}

/** Ids alone would be decisions on entries that nobody has seen as they are. */
function entriesProblem(entries: unknown): string | undefined {
  if (!Array.isArray(entries)) return `entries is ${kindOf(entries)}: pass the entries of a preview.`
  if (entries.length > MAX_MATCHING)
    return `entries has ${entries.length} entries: pass at most ${MAX_MATCHING} at a time.`
  const wrong = entries.findIndex((entry: Partial<MatchedEntry> | null) => typeof entry?.id !== 'string')
  return wrong === -1 ? undefined : `entries[${wrong}] is not an entry: pass the entries of a preview.`
}

/** How many pages a preview reads at most. Each page examines a bounded number of entries. */
const MAX_PAGES = 20

/** The states in which a bulk decision looks for entries. To handle an entry a second time, an operator must name that entry. */
export const BULK_STATES: Readonly<Record<OperatorAction, readonly InboxState[]>> = {
  retry: MOVES.retry.from.filter((state) => state !== 'handled'),
  release: MOVES.release.from,
  discard: MOVES.discard.from,
  undo: ['stored', 'unhandled', 'discarded'],
}
