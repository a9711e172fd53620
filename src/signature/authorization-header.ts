const PREFIX = 'HMAC-SHA256 Signature='

// 32 bytes are 43 characters and one of padding. The last of the 43 carries four bits: with one of its two low bits set
// it would be a second spelling of the same bytes.
const SIGNATURE = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

/**
 * The signature of an `HMAC-SHA256 Signature=...` value (SERVICE 5.1, rule 4), or undefined when it has another form.
 * The scheme is matched without regard to case (RFC 9110, section 11.1), the rest to the letter.
 */
export function parseAuthorization(value: string): string | undefined {
  if (value.length !== PREFIX.length + 44) return undefined
  // To lower case, not to upper: there is more than one letter whose upper case is S.
  if (value.slice(0, 11).toLowerCase() !== 'hmac-sha256' || !value.startsWith(' Signature=', 11))
    return undefined
  const signature = value.slice(PREFIX.length)
  return SIGNATURE.test(signature) ? signature : undefined
}

export function formatAuthorization(signature: string): string {
  return PREFIX + signature
}
