/** What an operator may do in the console. `view`: see the pages. `decide`: also retry, release, discard and undo. */
export type ConsoleRole = 'view' | 'decide'

/** Who uses the console. */
export interface Operator {
  /** Written into the history of each entry that this operator decides about. 1 to 100 characters. */
  readonly name: string
  readonly role: ConsoleRole
}

const MAX_NAME = 100

/** Whether the value is a valid operator. It comes from the application, so it can have any type. */
export function isOperator(value: unknown): value is Operator {
  if (typeof value !== 'object' || value === null) return false
  const { name, role } = value as Record<string, unknown>
  return isOperatorName(name) && (role === 'view' || role === 'decide')
}

/** Whether the value is a name that the history of an entry may contain. */
export function isOperatorName(name: unknown): name is string {
  if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME) return false
  // Control and formatting characters could make one name look like another.
  return !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)
}
