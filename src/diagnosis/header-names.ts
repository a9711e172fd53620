/** Unauthenticated: a longer part of a name may be a credential that somebody put there. */
const WORDS = /^[a-z\d]{1,20}(?:[-_][a-z\d]{1,20}){0,7}$/

/** The name of a header of the request for a finding, in its usual letter case. */
export function shownHeader(name: string): string {
  if (!WORDS.test(name)) return 'another header'
  return name.replace(/(?<![a-z\d])[a-z]/g, (letter) => letter.toUpperCase())
}
