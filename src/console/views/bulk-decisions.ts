import { BULK_STATES } from '../../inbox/act-on-matching.js'
import type { OperatorDecision } from '../../inbox/operations.js'
import type { ListQuery } from './entry-filter.js'
import { numberText } from './time.js'

/** The decisions on all entries of a list, in the order in which the list offers them, with their words on the pages. */
export const BULK_DECISIONS = {
  retry: { title: 'Retry all that match', verb: 'Retry', done: 'retried' },
  release: { title: 'Release all that match', verb: 'Release', done: 'released' },
  discard: { title: 'Discard all that match', verb: 'Discard', done: 'discarded' },
} as const satisfies Record<OperatorDecision, object>

/** The decision that a form or an address names; undefined if there is none. */
export function bulkDecisionIn(fields: URLSearchParams): OperatorDecision | undefined {
  const action = fields.get('action')
  return action !== null && Object.hasOwn(BULK_DECISIONS, action) ? (action as OperatorDecision) : undefined
}

/** Whether the list has chosen states, and all of them allow the decision: a decision on every state is a mistake. */
export function isBulkPossible(decision: OperatorDecision, { filter, problem }: ListQuery): boolean {
  const { states = [] } = filter
  if (problem !== undefined || states.length === 0) return false
  return states.every((state) => BULK_STATES[decision].includes(state))
}

export function countedEntries(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'entry' : 'entries'}`
}
