import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { property } from '../base/foreign-value.js'
import type { HeaderValue } from '../signature/credentials.js'
import { mayArriveInThisTick, readArrivedBody } from './arrived-body.js'
import { readBody, type BodyFailure, type RawBody, type ReadBodyOptions } from './read-body.js'

/**
 * A request whose bytes were kept by `captureRawBody()`, the runtime of a cloud function, or a parser's `verify`
 * option.
 */
type WithBody = IncomingMessage & { rawBody?: unknown }

const PARSED = Promise.resolve()

/**
 * Returns the body, or why there is none. It reads the request at most once. It does not wait for a body that other
 * code has already read, because no byte would arrive.
 */
export function readRawBody(
  request: WithBody,
  options: ReadBodyOptions,
): Promise<RawBody | BodyFailure> | RawBody | BodyFailure {
  const kept = keptBytes(request)
  if (kept)
    return kept.length > options.limits.maxBodyBytes ? 'ERR_BODY_TOO_LARGE' : { bytes: kept, release() {} }
  // Microtasks run when Node has parsed what was read from the socket.
  return mayArriveInThisTick(request, options)
    ? PARSED.then(() => readStream(request, options))
    : readStream(request, options)
}

function readStream(
  request: WithBody,
  options: ReadBodyOptions,
): Promise<RawBody | BodyFailure> | RawBody | BodyFailure {
  // This comes first and reads few properties: Express replaces the prototype of a request, which makes each access slow on Node 20.
  const arrived = readArrivedBody(request, options)
  if (arrived) return arrived
  if (!isStream(request)) return noStream()
  // Over HTTP/2 only `aborted` is set, and the stream looks as if it had been read.
  if (request.readableAborted || request.aborted) return 'ERR_BODY_ABORTED'
  if (endedEmpty(request)) {
    const hasBody = isDeclared(options.contentLength) || hasContent(property(request, 'body'))
    return hasBody ? alreadyRead(request) : { bytes: Buffer.alloc(0), release() {} }
  }
  if (!isUnread(request)) return alreadyRead(request)
  return readBody(request, options)
}

/** Whether a stream has ended without a byte. With `optimizeEmptyRequests` Node ends it before other code can read it. */
export function endedEmpty({ readableEnded, readableDidRead }: Readable): boolean {
  return readableEnded && readableDidRead === false
}

/** Whether the sender has announced a body. */
export function isDeclared(contentLength: HeaderValue): boolean {
  return Number(contentLength) > 0
}

/** Whether a stream still has all its bytes unchanged. A decoder on the stream would change them. */
export function isUnread(stream: Readable): boolean {
  const { readable, readableDidRead, readableEnded, readableEncoding } = stream
  // The requests of some adapters lack these properties.
  return readable !== false && !readableDidRead && !readableEnded && !readableEncoding
}

/** What `body` is after a parser has read an empty body: nothing, an empty text or an empty object. */
function hasContent(body: unknown): boolean {
  if (typeof body === 'object' && body !== null) return Object.keys(body).length > 0
  return typeof body === 'string' && body !== ''
}

function isStream(request: Partial<Readable>): boolean {
  const { on, off, pause, resume } = request
  return [on, off, pause, resume].every((method) => typeof method === 'function')
}

/** Libraries that create requests for unit tests. */
function noStream(): BodyFailure {
  const reason =
    'the request is not a stream, such as that of a mock library: give it the signed bytes as a Buffer in rawBody, send the ' +
    'request to a server, or use receiver.receive()'
  return { refused: 'ERR_BODY_ALREADY_READ', reason }
}

function alreadyRead({ rawBody }: WithBody): BodyFailure {
  if (typeof rawBody !== 'string') return 'ERR_BODY_ALREADY_READ'
  const reason =
    'req.rawBody is a text, and the signature covers the bytes that it was decoded from. Keep the bytes: ' +
    'express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes } }), without toString()'
  return { refused: 'ERR_BODY_ALREADY_READ', reason }
}

function keptBytes(request: WithBody): Buffer | undefined {
  const { rawBody } = request
  // Some platforms parse the body when this property is read. If it is not valid JSON, they throw.
  const body = property(request, 'body')
  const bytes = ArrayBuffer.isView(rawBody) ? rawBody : ArrayBuffer.isView(body) ? body : undefined
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
