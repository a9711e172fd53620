const PREFIX = 'HMAC-SHA256 Signature='

// The scheme is case-insensitive (RFC 9110, section 11.1). Each of its letters has a class, because the flag `i` would
// apply to the signature as well. 32 bytes are 43 characters and one padding character. The last of the 43 carries four
// bits. If one of its two low bits were set, the same bytes would have a second spelling.
const AUTHORIZATION = /^[Hh][Mm][Aa][Cc]-[Ss][Hh][Aa]256 Signature=[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

/** The signature of an `HMAC-SHA256 Signature=...` value (SERVICE 5.1, rule 4), or undefined if it has another form. */
export function parseAuthorization(value: string): string | undefined {
  return value.length === PREFIX.length + 44 && AUTHORIZATION.test(value)
    ? value.slice(PREFIX.length)
    : undefined
}

export function formatAuthorization(signature: string): string {
  return PREFIX + signature
}
