/** A shorter text has no signature in it. Nearly all event types and keys are shorter, and are not searched. */
const MIN_LENGTH = 43

/** The source of an expression for the 44 characters of an HMAC-SHA256 in Base64. */
export const SIGNATURE = String.raw`(?<![\w+/])[\w+/]{43}=(?!=)`

/** A signature, and what follows the name of a scheme. */
const CREDENTIAL = new RegExp(String.raw`(?<=signature=|\b(?:bearer|basic) )[\w.~+/-]+=*|${SIGNATURE}`, 'gi')

/** The value of a header without a signature, also without the token or the password that it may have in place of it. */
export function withoutCredentials(value: string): string {
  return value.length < MIN_LENGTH ? value : value.replace(CREDENTIAL, '[hidden]')
}
