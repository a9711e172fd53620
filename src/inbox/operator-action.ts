import type { OperatorAction } from './inbox.js'
import { MOVES, type InboxState } from './states.js'

interface Standing {
  readonly id: number
  readonly state: InboxState
}

/** Why a person's action is not possible on an entry in this state, or undefined where it is. */
export function actionRefusal(action: OperatorAction, { id, state }: Standing): string | undefined {
  const from: readonly InboxState[] = MOVES[action].from
  if (from.includes(state)) return undefined
  return `entry ${id} is ${state}; ${action} is for entries that are ${from.join(', ').replace(/, (\w+)$/, ' or $1')}`
}

/** Why an entry is not released: it would be handled beside, or after, the one it repeats. */
export function repeatRefusal({ id, state }: Standing): string {
  return `the same callback is entry ${id}, ${state}`
}

export function missingRefusal(id: number): string {
  return `there is no entry ${id}`
}
