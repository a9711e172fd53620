import type { OutcomeCode } from '../../src/index.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { editHead, withHeader, withLines } from '../support/http-bytes.js'
import { FORGED, genuine } from '../support/running-receiver.js'

interface RefusedCallback {
  readonly arrives: string
  readonly code: OutcomeCode
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Options of the receiver. */
  readonly options?: { readonly maxBodyBytes?: number; readonly bodyTimeoutMs?: number }
  readonly request: () => SignedCallback | Uint8Array
}

const UNAUTHORIZED = { status: 401, headers: { 'www-authenticate': 'HMAC-SHA256' } }
const withoutHeader = (name: string) => () => genuine({ headers: { [name]: null } })
const CLOSED = { headers: { connection: 'close' } }

function withSecond(name: string): Buffer {
  const { headers, toHttp } = genuine()
  return withLines(toHttp(), `${name}: ${headers[name]}`)
}

/** What is refused whether or not there is an inbox. */
export const REFUSED_CALLBACKS: readonly RefusedCallback[] = [
  {
    arrives: 'a genuine callback without a key',
    code: 'ERR_IDEMPOTENCY_KEY_MISSING',
    status: 400,
    request: withoutHeader('X-Idempotency-Key'),
  },
  {
    arrives: 'a genuine callback whose key is not a UUID',
    code: 'ERR_IDEMPOTENCY_KEY_MALFORMED',
    status: 400,
    request: () => genuine({ idempotencyKey: '{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}' }),
  },
  {
    arrives: 'a genuine callback without an event type',
    code: 'ERR_EVENT_TYPE_MISSING',
    status: 400,
    request: withoutHeader('X-Event-Type'),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback without Authorization',
    code: 'ERR_AUTHORIZATION_MISSING',
    request: withoutHeader('Authorization'),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback with a bearer token',
    code: 'ERR_AUTHORIZATION_MALFORMED',
    request: () => genuine({ headers: { Authorization: 'Bearer abc' } }),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback with two Authorization headers',
    code: 'ERR_AUTHORIZATION_REPEATED',
    request: () => withSecond('Authorization'),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback signed with another secret',
    code: 'ERR_SIGNATURE_MISMATCH',
    request: () => withHeader(genuine().toHttp(), 'Authorization', FORGED),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback without a timestamp',
    code: 'ERR_TIMESTAMP_MISSING',
    request: withoutHeader('Authorization-Timestamp'),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback whose timestamp is no HTTP date',
    code: 'ERR_TIMESTAMP_MALFORMED',
    request: () => genuine({ headers: { 'Authorization-Timestamp': new Date().toISOString() } }),
  },
  {
    ...UNAUTHORIZED,
    arrives: 'a callback with two timestamps',
    code: 'ERR_TIMESTAMP_REPEATED',
    request: () => withSecond('Authorization-Timestamp'),
  },
  {
    arrives: 'a PUT',
    code: 'ERR_METHOD_NOT_ALLOWED',
    status: 405,
    headers: { allow: 'POST' },
    request: () => editHead(genuine().toHttp(), (head) => head.replace('POST', 'PUT')),
  },
  {
    ...CLOSED,
    arrives: 'a body whose stated length is too large',
    code: 'ERR_BODY_TOO_LARGE',
    status: 413,
    options: { maxBodyBytes: 100 },
    request: () => genuine({ body: 'x'.repeat(101) }),
  },
  {
    ...CLOSED,
    arrives: 'a body that turns out to be too large',
    code: 'ERR_BODY_TOO_LARGE',
    status: 413,
    options: { maxBodyBytes: 100 },
    request: () => genuine({ body: 'x'.repeat(101) }).toHttp({ chunked: [50] }),
  },
  {
    arrives: 'a compressed body',
    code: 'ERR_BODY_ENCODED',
    status: 415,
    request: () => genuine({ headers: { 'Content-Encoding': 'gzip' } }),
  },
  {
    ...CLOSED,
    arrives: 'a body that does not come to its end',
    code: 'ERR_BODY_TIMEOUT',
    status: 408,
    options: { bodyTimeoutMs: 50 },
    request: () => genuine().toHttp().subarray(0, -1),
  },
]
