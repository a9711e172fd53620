import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { property } from '../base/foreign-value.js'
import { mayArriveInThisTick, readArrivedBody } from './arrived-body.js'
import { readBody, type BodyFailureCode, type RawBody, type ReadBodyOptions } from './read-body.js'

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
): Promise<RawBody | BodyFailureCode> | RawBody | BodyFailureCode {
  const kept = keptBytes(request)
  if (kept)
    return kept.length > options.limits.maxBodyBytes ? 'ERR_BODY_TOO_LARGE' : { bytes: kept, release() {} }
  // Microtasks run when Node has parsed what was read from the socket.
  return mayArriveInThisTick(request, options)
    ? PARSED.then(() => readStream(request, options))
    : readStream(request, options)
}

function readStream(
  request: IncomingMessage,
  options: ReadBodyOptions,
): Promise<RawBody | BodyFailureCode> | RawBody | BodyFailureCode {
  // This comes first and reads few properties: Express replaces the prototype of a request, which makes each access slow on Node 20.
  const arrived = readArrivedBody(request, options)
  if (arrived) return arrived
  // Over HTTP/2 only `aborted` is set, and the stream looks as if it had been read.
  if (request.readableAborted || request.aborted) return 'ERR_BODY_ABORTED'
  if (endedEmpty(request)) return { bytes: Buffer.alloc(0), release() {} }
  if (!isUnread(request)) return 'ERR_BODY_ALREADY_READ'
  return readBody(request, options)
}

/** Whether a stream has ended without a byte. With `optimizeEmptyRequests` Node ends it before other code can read it. */
export function endedEmpty({ readableEnded, readableDidRead }: Readable): boolean {
  return readableEnded && readableDidRead === false
}

/** Whether a stream still has all its bytes unchanged. A decoder on the stream would change them. */
export function isUnread(stream: Readable): boolean {
  const { readable, readableDidRead, readableEnded, readableEncoding } = stream
  // The requests of some adapters lack these properties.
  return readable !== false && !readableDidRead && !readableEnded && !readableEncoding
}

function keptBytes(request: WithBody): Buffer | undefined {
  const { rawBody } = request
  // Some platforms parse the body when this property is read. If it is not valid JSON, they throw.
  const body = property(request, 'body')
  const bytes = ArrayBuffer.isView(rawBody) ? rawBody : Buffer.isBuffer(body) ? body : undefined
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
