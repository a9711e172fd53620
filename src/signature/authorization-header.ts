const PREFIX = 'HMAC-SHA256 Signature='

// Only the scheme is matched without regard to case (RFC 9110, section 11.1), and letter by letter: under the flag `i` so
// would be the rest. 32 bytes are 43 characters and one of padding. The last of the 43 carries four bits: with one of its
// two low bits set it would be a second spelling of the same bytes.
const AUTHORIZATION = /^[Hh][Mm][Aa][Cc]-[Ss][Hh][Aa]256 Signature=[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

/** The signature of an `HMAC-SHA256 Signature=...` value (SERVICE 5.1, rule 4), or undefined when it has another form. */
export function parseAuthorization(value: string): string | undefined {
  return value.length === PREFIX.length + 44 && AUTHORIZATION.test(value)
    ? value.slice(PREFIX.length)
    : undefined
}

export function formatAuthorization(signature: string): string {
  return PREFIX + signature
}
