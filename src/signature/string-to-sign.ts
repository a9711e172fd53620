import { hash } from 'node:crypto'
import { signedUrl, type SignedUrl } from './callback-url.js'
import { fieldsOf } from './fields.js'
import { SignatureInputError } from './signature-error.js'

/** What is signed. */
export interface SignedMaterial {
  /** The subscribed callback URL. Never the URL of the request, because a proxy may have rewritten it. */
  readonly callbackUrl: string
  /** The exact text of the Authorization-Timestamp header. */
  readonly timestamp: string
  /** The bytes of the body as they are on the wire. A string is encoded as UTF-8. */
  readonly body: Uint8Array | string
}

/**
 * The string that is signed: path and query, line feed, timestamp, semicolon, host, semicolon, and the Base64 of
 * the SHA-256 of the body.
 * @throws SignatureInputError ERR_CALLBACK_URL_INVALID, ERR_TIMESTAMP_MALFORMED, ERR_BODY_NOT_BYTES
 */
export function stringToSign(material: SignedMaterial): string {
  const { callbackUrl, timestamp, body } = fieldsOf(material)
  const url = signedUrl(callbackUrl)
  if (typeof timestamp !== 'string') {
    const message = `timestamp must be the exact text of the Authorization-Timestamp header, but is of type ${typeof timestamp}.`
    throw new SignatureInputError('ERR_TIMESTAMP_MALFORMED', message)
  }
  return joinSigned(url, timestamp, hashBody(typeof body === 'string' ? Buffer.from(body, 'utf8') : body))
}

/**
 * SHA-256 of the body, Base64 (SERVICE 5.1, rule 1). A string is refused, because it was decoded from the received bytes.
 * @throws SignatureInputError ERR_BODY_NOT_BYTES
 */
export function hashBody(body: Uint8Array): string {
  // By its tag, because `instanceof` fails for bytes of another realm, such as a test runner's.
  if (ArrayBuffer.isView(body) && body[Symbol.toStringTag] === 'Uint8Array')
    return hash('sha256', body, 'base64')
  const message =
    'body must be the bytes as they are on the wire: a Buffer or Uint8Array, not a parsed object.'
  throw new SignatureInputError('ERR_BODY_NOT_BYTES', message)
}

/** Path and query, line feed, timestamp, semicolon, host, semicolon, hash of the body (SERVICE 5.1, rule 2). */
export function joinSigned(url: SignedUrl, timestamp: string, bodyHash: string): string {
  return `${url.pathLine}${timestamp}${url.hostField}${bodyHash}`
}
