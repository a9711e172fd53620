import { randomUUID } from 'node:crypto'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { eventTypeNameProblem } from '../base/event-type-name.js'
import type { HasAll } from '../base/has-all.js'
import { checkKnownOptions, invalidOption, kindOf, refuseOption } from '../base/option-checks.js'
import { signCallback } from '../signature/index.js'
import { formatHttpDate } from '../signature/timestamp.js'
import { callbackBody } from './callback-body.js'

/** Options of `signedCallback`. */
export interface SignedCallbackOptions {
  /** The subscription whose secret signs the callback, such as that of the receiver. */
  readonly subscription: {
    /** Not sent. It is allowed here so that the subscription of a receiver can be used. */
    readonly id?: string | undefined
    readonly description?: string | undefined
    readonly eventTypeName: string
    readonly callbackUrl: string
    /** The secret text, not its Base64. The first of several is used. */
    readonly secret: string | readonly string[]
  }
  /**
   * The body, as a value for JSON.
   * @default { Id: a random UUID }
   */
  readonly payload?: unknown
  /** The body itself, instead of `payload`. A string is encoded as UTF-8. @default the JSON of `payload` */
  readonly body?: Uint8Array | string | undefined
  /** @default a random UUID */
  readonly idempotencyKey?: string | undefined
  /** @default the subscription's eventTypeName */
  readonly eventType?: string | undefined
  /**
   * The time of the signature, or the exact text of an HTTP date.
   * @default now
   */
  readonly timestamp?: Date | string | undefined
  /**
   * Further headers. A header that the callback already has, in any case, is replaced, and `null` removes it. They do not
   * change the signature, so use this also to tamper with a callback. The same name twice in different case gives a
   * repeated header. @default none
   */
  readonly headers?: Readonly<Record<string, string | null | undefined>> | undefined
}

/** A signed callback, in the forms that `fetch`, supertest and sockets take. */
export interface SignedCallback {
  readonly method: 'POST'
  /** The subscribed callback URL. */
  readonly url: string
  /** Its path and query. */
  readonly path: string
  readonly headers: Record<string, string>
  /** What `waitFor` takes: the option, or the random UUID. The option `headers` does not change it. */
  readonly idempotencyKey: string
  /** Backed by an ArrayBuffer, as the DOM types require of a request body. */
  readonly body: Buffer & { readonly buffer: ArrayBuffer }
  /** The bytes of the whole request, for `sendRawRequest` or a file. */
  toHttp(options?: ToHttpOptions): Buffer
}

export interface ToHttpOptions {
  /**
   * The Host header, which a proxy may have rewritten.
   * @default the callback URL's
   */
  readonly host?: string | undefined
  /**
   * The request target, which a proxy may have rewritten.
   * @default the callback URL's path and query
   */
  readonly path?: string | undefined
  /** Sends the body chunked: in one piece, or in pieces of these sizes and one with the rest. */
  readonly chunked?: boolean | readonly number[] | undefined
}

/**
 * A callback as the service would send it, to test a receiver with.
 *
 * @example
 * const callback = signedCallback({ subscription, payload: { Id: transferId } })
 *
 * // with fetch; the signature covers the callback URL, not the URL of this request
 * await fetch(`http://127.0.0.1:${port}${callback.path}`, callback)
 * // with supertest, which would serialize a Buffer to JSON
 * await request(app).post(callback.path).set(callback.headers).send(callback.body.toString())
 * // byte for byte
 * await sendRawRequest(callback.toHttp({ chunked: [1, 2] }), { port })
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; `toHttp` too
 * @throws SignatureInputError ERR_CALLBACK_URL_INVALID, ERR_SECRET_INVALID
 */
export function signedCallback(options: SignedCallbackOptions): SignedCallback {
  checkOptions(options)
  const { eventTypeName, callbackUrl, secret } = options.subscription
  const body = callbackBody(OWNER, options, randomUUID)
  const timestamp =
    typeof options.timestamp === 'string'
      ? options.timestamp
      : formatHttpDate(options.timestamp ?? new Date())
  const authorization = signCallback({
    callbackUrl,
    secret: (Array.isArray(secret) ? secret[0] : secret) as string,
    timestamp,
    body,
  })
  const { host, pathname, search } = new URL(callbackUrl)
  const path = pathname + search
  const extra = options.headers ?? {}
  const idempotencyKey = options.idempotencyKey ?? randomUUID()
  const headers = mergeHeaders(
    {
      'Content-Type': 'application/json',
      'X-Idempotency-Key': idempotencyKey,
      'X-Event-Type': options.eventType ?? eventTypeName,
      'Authorization-Timestamp': timestamp,
      Authorization: authorization,
    },
    extra,
  )
  return {
    method: 'POST',
    url: callbackUrl,
    path,
    headers,
    idempotencyKey,
    body,
    toHttp(given = {}) {
      checkKnownOptions(TO_HTTP, given, ['host', 'path', 'chunked'])
      const { host: hostHeader = host, path: target = path } = given
      const pieces = pieceSizes(given.chunked)
      const framing = pieces ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': `${body.length}` }
      const fields = Object.entries(mergeHeaders({ Host: hostHeader, ...framing, ...headers }, extra))
      const lines = [`POST ${target} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)]
      return Buffer.concat([
        Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
        pieces ? chunk(body, pieces) : body,
      ])
    },
  }
}

const OWNER = 'signedCallback'
const TO_HTTP = `${OWNER}().toHttp`

const KNOWN = [
  'subscription',
  'payload',
  'body',
  'idempotencyKey',
  'eventType',
  'timestamp',
  'headers',
] as const satisfies readonly (keyof SignedCallbackOptions)[]
void (true satisfies HasAll<keyof SignedCallbackOptions, typeof KNOWN>)

/** The callback URL and the secret are checked when it is signed. */
function checkOptions(options: SignedCallbackOptions): void {
  checkKnownOptions(OWNER, options, KNOWN)
  const subscription: Partial<SignedCallbackOptions['subscription']> | undefined = options.subscription
  if (typeof subscription !== 'object' || subscription === null) {
    const cure = 'pass an object with eventTypeName, callbackUrl and secret'
    throw invalidOption(OWNER, 'subscription', subscription, cure, kindOf(subscription))
  }
  const problem = eventTypeNameProblem(subscription.eventTypeName)
  refuseOption(OWNER, 'subscription', problem && `subscription: ${problem}.`)
}

function mergeHeaders(
  headers: Record<string, string>,
  extra: Readonly<Record<string, string | null | undefined>>,
): Record<string, string> {
  const given = Object.entries(extra).filter(([, value]) => value !== undefined)
  const replaced = new Set(given.map(([name]) => name.toLowerCase()))
  const kept = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()))
  const merged = [...kept, ...given].filter((field): field is [string, string] => field[1] !== null)
  for (const [name, value] of merged) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  }
  return Object.fromEntries(merged)
}

/** Undefined if the body is not chunked. */
function pieceSizes(chunked: ToHttpOptions['chunked'] = false): readonly number[] | undefined {
  if (typeof chunked === 'boolean') return chunked ? [] : undefined
  const cure = 'use true, false, or a list of sizes of at least 1'
  if (!Array.isArray(chunked)) throw invalidOption(TO_HTTP, 'chunked', chunked, cure)
  // An empty chunk would end the body.
  for (const [index, size] of chunked.entries()) {
    if (!Number.isSafeInteger(size) || size < 1)
      throw invalidOption(TO_HTTP, { option: 'chunked', part: `chunked[${index}]` }, size, cure)
  }
  return chunked
}

function chunk(body: Buffer, sizes: readonly number[]): Buffer {
  const pieces: (Buffer | string)[] = []
  let at = 0
  for (const size of [...sizes, body.length]) {
    const piece = body.subarray(at, at + size)
    if (piece.length > 0) pieces.push(`${piece.length.toString(16)}\r\n`, piece, '\r\n')
    at += piece.length
  }
  return Buffer.concat([...pieces, '0\r\n\r\n'].map((piece) => Buffer.from(piece as string)))
}
