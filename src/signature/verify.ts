import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { signedUrl } from './callback-url.js'
import { readCredentials, type CredentialsFailure, type HeaderValue } from './credentials.js'
import { fieldsOf } from './fields.js'
import { hmacKeys } from './secret.js'
import { SignatureInputError } from './signature-error.js'
import { hashBody, joinSigned } from './string-to-sign.js'

/** What `verifyCallback` takes: the values of the request as they arrived, and the subscription. */
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

/** The reason why a signature is not valid. */
export type VerificationFailure =
  | CredentialsFailure
  | 'ERR_SIGNATURE_MISMATCH'
  | 'ERR_CALLBACK_URL_INVALID'
  | 'ERR_SECRET_INVALID'
  | 'ERR_BODY_NOT_BYTES'

/** The result of `verifyCallback`: valid with the time of signing, or the reason why not. */
export type Verification =
  | { readonly valid: true; readonly signedAt: Date }
  | { readonly valid: false; readonly code: VerificationFailure }

/**
 * Whether a callback was signed with one of the secrets. It never throws: for every input it returns a verdict,
 * with a code if it is negative. The caller checks the age of the callback by `signedAt`.
 */
export function verifyCallback(input: VerifyInput): Verification {
  const { callbackUrl, secret, timestamp, authorization, body } = fieldsOf(input)
  const credentials = readCredentials(authorization, timestamp)
  if (typeof credentials === 'string') return { valid: false, code: credentials }
  try {
    const bodyHash = hashBody(body)
    const text = joinSigned(signedUrl(callbackUrl), credentials.timestamp, bodyHash)
    if (matchingKey(Buffer.from(credentials.signature, 'latin1'), text, hmacKeys(secret)) < 0) {
      return { valid: false, code: 'ERR_SIGNATURE_MISMATCH' }
    }
    return { valid: true, signedAt: new Date(credentials.signedAtMs) }
  } catch (error) {
    if (error instanceof SignatureInputError) return { valid: false, code: error.code }
    throw error
  }
}

// 44 characters of canonical Base64. Reused for every key, because allocating a buffer takes longer than comparing two. No
// code of a caller may run between writing and comparing: it could verify another callback. So `matchingKey` takes
// keys, and not a list of secrets that may have getters.
const expected = Buffer.alloc(44)

/**
 * The position of the key that gives this signature for a text, or -1. Each comparison takes constant time, and every key is
 * tried, also after a match, so that the duration does not tell which key it was.
 * @param received the 44 characters of Base64, as bytes
 */
export function matchingKey(received: Uint8Array, text: string, keys: readonly KeyObject[]): number {
  if (received.length !== expected.length) return -1
  let matched = -1
  for (let index = 0; index < keys.length; index++) {
    expected.write(createHmac('sha256', keys[index]!).update(text).digest('base64'), 'latin1')
    if (timingSafeEqual(expected, received)) matched = index
  }
  return matched
}
