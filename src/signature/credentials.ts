import { parseAuthorization } from './authorization-header.js'
import { parseHttpDate } from './timestamp.js'

/** A header as it arrived: absent, one value, or a list. A list with more than one value is a repeated header. */
export type HeaderValue = string | readonly string[] | undefined

/** The signature headers of a callback. They are well-formed, but not verified. */
export interface Credentials {
  /** 44 characters of canonical Base64. */
  readonly signature: string
  /** The exact text of the Authorization-Timestamp header. This text is signed. */
  readonly timestamp: string
  readonly signedAtMs: number
}

export type CredentialsFailure =
  | 'ERR_AUTHORIZATION_MISSING'
  | 'ERR_AUTHORIZATION_REPEATED'
  | 'ERR_AUTHORIZATION_MALFORMED'
  | 'ERR_TIMESTAMP_MISSING'
  | 'ERR_TIMESTAMP_REPEATED'
  | 'ERR_TIMESTAMP_MALFORMED'

/**
 * Reads the two headers of SERVICE 5.1. It needs neither the body nor a secret, so a request with malformed headers can
 * be refused before its body is read.
 */
export function readCredentials(
  authorization: HeaderValue,
  timestamp: HeaderValue,
): Credentials | CredentialsFailure {
  const authorizationText = single(authorization)
  if (authorizationText === undefined) return 'ERR_AUTHORIZATION_MISSING'
  if (authorizationText === null) return 'ERR_AUTHORIZATION_REPEATED'
  const signature = parseAuthorization(authorizationText)
  if (signature === undefined) return 'ERR_AUTHORIZATION_MALFORMED'

  const timestampText = single(timestamp)
  if (timestampText === undefined) return 'ERR_TIMESTAMP_MISSING'
  if (timestampText === null) return 'ERR_TIMESTAMP_REPEATED'
  const signedAtMs = parseHttpDate(timestampText)
  if (signedAtMs === undefined) return 'ERR_TIMESTAMP_MALFORMED'

  return { signature, timestamp: timestampText, signedAtMs }
}

/** The value, undefined if there is none, or null if there are several. */
function single(header: unknown): string | undefined | null {
  if (typeof header === 'string') return header
  if (!Array.isArray(header) || header.length === 0) return undefined
  if (header.length > 1) return null
  return typeof header[0] === 'string' ? header[0] : undefined
}
