import { createHmac } from 'node:crypto'
import { formatAuthorization } from './authorization-header.js'
import { fieldsOf } from './fields.js'
import { hmacKey } from './secret.js'
import { SignatureInputError } from './signature-error.js'
import { stringToSign } from './string-to-sign.js'
import { formatHttpDate, isDate, parseHttpDate } from './timestamp.js'

/** What `signCallback` takes. */
export interface SignInput {
  /** The subscribed callback URL. */
  readonly callbackUrl: string
  /** The secret text itself, not the Base64 that is sent as `secretText`. */
  readonly secret: string
  /** A time, or the exact text of the Authorization-Timestamp header that is sent with the signature. */
  readonly timestamp: Date | string
  /** The bytes to be sent. A string is encoded as UTF-8. */
  readonly body: Uint8Array | string
}

/**
 * The value of the Authorization header for a callback: `HMAC-SHA256 Signature=...`.
 * @throws SignatureInputError ERR_CALLBACK_URL_INVALID, ERR_SECRET_INVALID, ERR_TIMESTAMP_MALFORMED,
 * ERR_BODY_NOT_BYTES
 */
export function signCallback(input: SignInput): string {
  const { callbackUrl, secret, timestamp, body } = fieldsOf(input)
  const text = stringToSign({ callbackUrl, timestamp: headerText(timestamp), body })
  return formatAuthorization(createHmac('sha256', hmacKey(secret)).update(text).digest('base64'))
}

function headerText(timestamp: Date | string): string {
  const text = isDate(timestamp) ? formatHttpDate(timestamp) : timestamp
  if (typeof text === 'string' && parseHttpDate(text) !== undefined) return text
  const found = typeof text === 'string' ? JSON.stringify(text.slice(0, 100)) : `of type ${typeof text}`
  const message = `timestamp must be a valid Date, or an HTTP date such as "Tue, 03 Nov 2026 09:14:27 GMT", but is ${found}.`
  throw new SignatureInputError('ERR_TIMESTAMP_MALFORMED', message)
}
