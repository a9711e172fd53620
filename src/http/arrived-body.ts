import type { IncomingMessage } from 'node:http'
import type { BodyFailureCode, RawBody, ReadBodyOptions } from './read-body.js'

/**
 * Reads the body of a request if all its bytes have arrived and no other code listens for them. Otherwise returns undefined.
 * Most bodies arrive together with their head, and reading them with listeners takes 15 percent more processor time.
 */
export function readArrivedBody(
  request: IncomingMessage,
  { limits, memory, contentLength }: ReadBodyOptions,
): RawBody | BodyFailureCode | undefined {
  const { readableLength: length } = request
  // `complete` is not used here. Some adapters set it before the stream has its bytes, and Node sets it later.
  const hasArrived = length > 0 && length === Number(contentLength)
  if (!hasArrived || length > limits.maxBodyBytes) return undefined
  const { complete, readable, readableEncoding, readableFlowing } = request
  // A stream that was destroyed returns nothing, and one with a decoder returns text.
  if (readable === false || readableEncoding) return undefined
  if (readableFlowing !== null || request.listenerCount('readable') > 0) return undefined
  if (!memory.hold(length, length)) return 'ERR_BODY_MEMORY_FULL'
  const bytes = readAll(request, length)
  // Other code may wait for `end`.
  if (!complete) request.resume()
  return { bytes, release: () => memory.release(length) }
}

/** The most that Node reads from a socket at once. */
const LARGEST_READ_BYTES = 65_536

/**
 * Whether the body may follow its head in what was read from the socket: Node calls its listeners before it parses the body. Not
 * asked of chunked bodies, which must be read as they arrive: Node keeps each chunk as a Buffer of its own.
 */
export function mayArriveInThisTick(request: IncomingMessage, { contentLength }: ReadBodyOptions): boolean {
  const { complete, readableFlowing } = request
  // If other code listens, it may get the body first. This code would then get nothing.
  const isAlone = readableFlowing === null && request.listenerCount('readable') === 0
  return complete === false && isAlone && Number(contentLength) <= LARGEST_READ_BYTES
}

/** On Node 26 `read()` returns one piece, and before that all of them. The last call makes the stream emit `end`. */
function readAll(request: IncomingMessage, length: number): Buffer {
  const first = request.read() as Buffer
  if (first.length === length) return withOwnMemory(first)
  const bytes = Buffer.allocUnsafeSlow(length)
  let end = first.copy(bytes)
  while (end < length) end += (request.read() as Buffer).copy(bytes, end)
  return bytes
}

/** Several pieces are joined in Node's pool, and over HTTP/2 a piece is a slice: a small body would keep more in memory. */
function withOwnMemory(bytes: Buffer): Buffer {
  if (bytes.length === bytes.buffer.byteLength) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
