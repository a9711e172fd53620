import { isOperatorName } from '../inbox/operator-action.js'

/** What an operator may do in the console. `view`: see the pages. `decide`: also retry, release, discard and undo. */
export type ConsoleRole = 'view' | 'decide'

/** Who uses the console. */
export interface Operator {
  /** Written into the history of each entry that this operator decides about. 1 to 100 characters. */
  readonly name: string
  readonly role: ConsoleRole
}

/** Whether the value is a valid operator. It comes from the application, so it can have any type. */
export function isOperator(value: unknown): value is Operator {
  if (typeof value !== 'object' || value === null) return false
  const { name, role } = value as Record<string, unknown>
  return isOperatorName(name) && (role === 'view' || role === 'decide')
}
