import { MAX_REASON_LENGTH } from '../inbox/operator-action.js'

/** Why the history does not accept this reason of a decision; undefined if it does. */
export function reasonProblem(reason: string | undefined, isRequired: boolean): string | undefined {
  if (reason === undefined) return isRequired ? 'Nothing was done: a decision needs a reason.' : undefined
  if (reason.length > MAX_REASON_LENGTH)
    return `Nothing was done: the reason has more than ${MAX_REASON_LENGTH} characters.`
  return /\p{Cc}/u.test(reason) ? 'Nothing was done: the reason contains a control character.' : undefined
}
