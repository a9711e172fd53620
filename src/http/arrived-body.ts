import type { IncomingMessage } from 'node:http'
import type { BodyFailureCode, RawBody, ReadBodyOptions } from './read-body.js'

/**
 * Reads the body of a request if all its bytes have arrived and no other code listens for them; else returns undefined.
 * Most bodies arrive together with their head. To read them with listeners makes a callback 10 percent more expensive.
 */
export function readArrivedBody(
  request: IncomingMessage,
  { limits, memory, contentLength }: ReadBodyOptions,
): RawBody | BodyFailureCode | undefined {
  const { complete, readableLength: length, readableFlowing } = request
  // The declared length proves that no byte is missing: some adapters set `complete` before the stream has its bytes.
  const hasArrived = complete === true && length > 0 && length === Number(contentLength)
  if (!hasArrived || length > limits.maxBodyBytes) return undefined
  if (readableFlowing !== null || request.listenerCount('readable') > 0) return undefined
  if (!memory.hold(length, length)) return 'ERR_BODY_MEMORY_FULL'
  const bytes = readAll(request, length)
  return { bytes, release: () => memory.release(length) }
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
