import { createHmac, timingSafeEqual } from 'node:crypto'
import { signedUrl } from './callback-url.js'
import {
  readCredentials,
  type Credentials,
  type CredentialsFailure,
  type HeaderValue,
} from './credentials.js'
import { hmacKeys } from './secret.js'
import { SignatureInputError } from './signature-error.js'
import { hashBody, joinSigned } from './string-to-sign.js'

export interface VerifyInput {
  /** The subscribed callback URL; never the URL of the request. */
  readonly callbackUrl: string
  /** The secret text, or several during a rotation. Not the Base64 that is sent as `secretText`. */
  readonly secret: string | readonly string[]
  /** The Authorization-Timestamp header as it arrived: a list when it was repeated, which is refused. */
  readonly timestamp: HeaderValue
  /** The Authorization header as it arrived: a list when it was repeated, which is refused. */
  readonly authorization: HeaderValue
  /** The bytes of the body as they arrived: never decoded, inflated, or serialised again. */
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
 * Whether a callback was signed with one of the secrets (SERVICE 5.1). Never throws: whatever the fields hold, the answer
 * is a verdict, and the reason when it is no. How old the callback may be is for the caller to decide, from `signedAt`.
 */
export function verifyCallback(input: VerifyInput): Verification {
  const { callbackUrl, secret, timestamp, authorization, body } = input
  const credentials = readCredentials(authorization, timestamp)
  if (typeof credentials === 'string') return { valid: false, reason: credentials }
  try {
    if (!signatureMatches(credentials, hashBody(body), callbackUrl, secret)) {
      return { valid: false, reason: 'ERR_SIGNATURE_MISMATCH' }
    }
    return { valid: true, signedAt: new Date(credentials.signedAtMs) }
  } catch (error) {
    if (error instanceof SignatureInputError) return { valid: false, reason: error.code }
    throw error
  }
}

// The 44 characters of both: canonical Base64, which is equal where the bytes are. Written over for each callback, as to
// make two buffers takes longer than to compare them; between writing and comparing nothing of a caller's may run.
const received = Buffer.alloc(44)
const expected = Buffer.alloc(44)

/**
 * The heart of it: compares what arrived with what each secret gives, in constant time.
 * @throws SignatureInputError ERR_CALLBACK_URL_INVALID, ERR_SECRET_INVALID
 */
export function signatureMatches(
  credentials: Credentials,
  bodyHash: string,
  callbackUrl: string,
  secret: string | readonly string[],
): boolean {
  const text = joinSigned(signedUrl(callbackUrl), credentials.timestamp, bodyHash)
  // Ahead of the writing, as a list may have code behind it, which may verify another callback.
  const keys = hmacKeys(secret)
  if (credentials.signature.length !== received.length) return false
  received.write(credentials.signature, 'latin1')
  let matched = false
  for (const key of keys) {
    expected.write(createHmac('sha256', key).update(text).digest('base64'), 'latin1')
    // Every key is tried, also after a match: the time does not tell which one it was.
    matched = timingSafeEqual(expected, received) || matched
  }
  return matched
}
