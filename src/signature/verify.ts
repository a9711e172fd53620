import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { signedUrl } from './callback-url.js'
import { readCredentials, type CredentialsFailure, type HeaderValue } from './credentials.js'
import { hmacKeys } from './secret.js'
import { SignatureInputError } from './signature-error.js'
import { hashBody, joinSigned } from './string-to-sign.js'

export interface VerifyInput {
  /** The subscribed callback URL; never the URL of the request. */
  readonly callbackUrl: string
  /** The secret text, or several during a rotation. Not the Base64 that is sent as `secretText`. */
  readonly secret: string | readonly string[]
  /** The Authorization-Timestamp header as it arrived. A list is a repeated header, which is refused. */
  readonly timestamp: HeaderValue
  /** The Authorization header as it arrived. A list is a repeated header, which is refused. */
  readonly authorization: HeaderValue
  /** The bytes of the body as they arrived: not decoded, inflated, or serialised again. */
  readonly body: Uint8Array
}

export type VerificationFailure =
  | CredentialsFailure
  | 'ERR_SIGNATURE_MISMATCH'
  | 'ERR_CALLBACK_URL_INVALID'
  | 'ERR_SECRET_INVALID'
  | 'ERR_BODY_NOT_BYTES'

export type Verification =
  | { readonly valid: true; readonly signedAt: Date }
  | { readonly valid: false; readonly reason: VerificationFailure }

/**
 * Whether a callback was signed with one of the secrets (SERVICE 5.1). It never throws: for every input it returns a
 * verdict, with the reason if it is negative. The caller checks the age of the callback by `signedAt`.
 */
export function verifyCallback(input: VerifyInput): Verification {
  const { callbackUrl, secret, timestamp, authorization, body } = input
  const credentials = readCredentials(authorization, timestamp)
  if (typeof credentials === 'string') return { valid: false, reason: credentials }
  try {
    const bodyHash = hashBody(body)
    const text = joinSigned(signedUrl(callbackUrl), credentials.timestamp, bodyHash)
    if (!signatureMatches(Buffer.from(credentials.signature, 'latin1'), text, hmacKeys(secret))) {
      return { valid: false, reason: 'ERR_SIGNATURE_MISMATCH' }
    }
    return { valid: true, signedAt: new Date(credentials.signedAtMs) }
  } catch (error) {
    if (error instanceof SignatureInputError) return { valid: false, reason: error.code }
    throw error
  }
}

// 44 characters of canonical Base64. The buffer is reused for every key, because an allocation takes longer than a
// comparison. No code of a caller may run between the write and the comparison, because it could verify another callback.
// Therefore `signatureMatches` takes keys, and not a list of secrets, which may have getters.
const expected = Buffer.alloc(44)

/**
 * Whether one of the keys gives this signature for a text. Each comparison takes constant time. Every key is tried, also
 * after a match, so that the duration does not reveal the key.
 * @param received the 44 characters of Base64, as bytes
 */
export function signatureMatches(received: Uint8Array, text: string, keys: readonly KeyObject[]): boolean {
  if (received.length !== expected.length) return false
  let matched = false
  for (const key of keys) {
    expected.write(createHmac('sha256', key).update(text).digest('base64'), 'latin1')
    matched = timingSafeEqual(expected, received) || matched
  }
  return matched
}
