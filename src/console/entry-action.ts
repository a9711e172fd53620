import type { OperatorAction } from '../inbox/operations.js'

const ACTIONS = ['retry', 'release', 'discard', 'undo'] as const satisfies readonly OperatorAction[]

/** The decision that a form names. */
export function entryActionIn(fields: URLSearchParams): OperatorAction | undefined {
  return ACTIONS.find((action) => action === fields.get('action'))
}
