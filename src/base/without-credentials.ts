/** A shorter text has no signature in it. Nearly all event types and keys are shorter, and are not searched. */
const MIN_LENGTH = 43

/** What follows the name of a scheme, and the 44 characters of an HMAC-SHA256 in Base64. */
const CREDENTIAL = /(?<=signature=|\b(?:bearer|basic) )[\w.~+/-]+=*|(?<![\w+/])[\w+/]{43}=(?!=)/gi

/** The value of a header without a signature, also without the token or the password that it may have in place of it. */
export function withoutCredentials(value: string): string {
  return value.length < MIN_LENGTH ? value : value.replace(CREDENTIAL, '[hidden]')
}
