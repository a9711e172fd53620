import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Returns a function that says whether a value of the header Authorization has this token (RFC 6750, section 2.1). Its time does not
 * depend on how many characters of a wrong token are right.
 */
export function bearerTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(token)
  return (authorization = '') => {
    // RFC 9110, section 11.1: the name of a scheme is case-insensitive.
    const presented = /^bearer +(\S+)$/i.exec(authorization)?.[1]
    return presented !== undefined && timingSafeEqual(digest(presented), expected)
  }
}

/** What is wrong with a token, or undefined. The text does not contain the token. */
export function bearerTokenProblem(token: unknown): string | undefined {
  if (typeof token !== 'string') return `of type ${typeof token}`
  if (token.length < MIN_LENGTH || token.length > MAX_LENGTH) return `a text of ${token.length} characters`
  return /^[\w.~+/-]+=*$/.test(token) ? undefined : 'a text with characters that a token cannot have'
}

/** A random text of 16 characters cannot be guessed, although a client may try any number of tokens. */
const MIN_LENGTH = 16
const MAX_LENGTH = 1_000

// timingSafeEqual requires the same length on both sides.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
