import type { EntryId } from '../callback/callback.js'
import type {
  ActOptions,
  ActResult,
  EntrySummary,
  InboxOperations,
  OperatorAction,
  SeenEntry,
} from './operations.js'
import { MOVES, type InboxState } from './states.js'

/** How many decisions run at the same time. A PostgreSQL inbox needs a connection for each. */
const AT_ONCE = 8

/** The result of a bulk decision. */
export interface MatchingResult {
  /** One result for each decision, in the order of the entries. */
  readonly results: readonly ({ readonly id: EntryId } & ActResult)[]
  /** How many decisions were carried out, and how many were refused, by code. */
  readonly counts: Readonly<Record<'done' | Extract<ActResult, { done: false }>['code'], number>>
  /** Set if the inbox failed. For the entries in `remaining` the decision was not carried out, or its result is unknown. */
  readonly failed?: { readonly error: unknown; readonly remaining: readonly EntryId[] } | undefined
}

/** An entry as the operator saw it. */
export type MatchedEntry = Pick<EntrySummary, 'id'> & SeenEntry

/**
 * Carries out an operator's decision on each of these entries. Entries that have changed since the operator saw them are not touched.
 * `act` accepts or refuses the decision on each entry separately. Without `again`, no callback is handled a second time.
 */
export async function actOnMatching(
  inbox: Pick<InboxOperations, 'act'>,
  entries: readonly MatchedEntry[],
  action: OperatorAction,
  by: string,
  options: Omit<ActOptions, 'expected'> = {},
): Promise<MatchingResult> {
  const results: MatchingResult['results'][number][] = []
  const counts = { done: 0, 'not-found': 0, changed: 0, state: 0, repeat: 0 }
  for (let start = 0; start < entries.length; start += AT_ONCE) {
    const batch = entries.slice(start, start + AT_ONCE)
    const ended = await Promise.allSettled(
      batch.map((entry) => inbox.act(entry.id, action, by, { ...options, expected: entry })),
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

/** The states in which a bulk decision looks for entries. To handle an entry a second time, an operator must name that entry. */
export const BULK_STATES: Readonly<Record<OperatorAction, readonly InboxState[]>> = {
  retry: MOVES.retry.from.filter((state) => state !== 'handled'),
  release: MOVES.release.from,
  discard: MOVES.discard.from,
  undo: ['stored', 'unhandled', 'discarded'],
}
