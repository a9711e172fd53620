import { invalidOption, type OptionPart } from './option-checks.js'

/**
 * Refuses a text with white space at its start or its end, such as the line end of a file or a variable that it was read
 * from. As a part of a path it would name another file. `mayBeShown`: whether the text cannot hold a password.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function refuseSurroundingSpace(
  owner: string,
  option: string | OptionPart,
  text: string,
  { mayBeShown }: { readonly mayBeShown: boolean },
): void {
  if (text.trim() === text) return
  const shown = mayBeShown ? JSON.stringify(text) : `a text of ${text.length} characters`
  throw invalidOption(owner, option, text, 'leave out the white space', `${shown} with white space around it`)
}
