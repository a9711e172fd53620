const MAX_LENGTH = 500

/** The reason of a decision in the form that the history accepts, or a message that says what is wrong with it. */
export function decisionReason(
  given: string,
  isRequired: boolean,
): { readonly reason: string | undefined; readonly problem?: string } {
  const reason = given.trim()
  if (reason === '') {
    return isRequired
      ? { reason: undefined, problem: 'Nothing was done: a decision needs a reason.' }
      : { reason: undefined }
  }
  if (reason.length > MAX_LENGTH)
    return { reason, problem: `Nothing was done: the reason has more than ${MAX_LENGTH} characters.` }
  if (/\p{Cc}/u.test(reason))
    return { reason, problem: 'Nothing was done: the reason contains a control character.' }
  return { reason }
}
