import { Readable } from 'node:stream'
import { kindOf } from '../base/option-checks.js'
import type { BodyLimits } from './body-limits.js'
import type { PlainRequest } from './plain-request.js'
import { endedEmpty, isDeclared, isUnread } from './raw-body.js'
import { readBody, type BodyFailure, type RawBody, type ReadBodyOptions } from './read-body.js'

/** What the reasons say that depends on the method of the receiver. */
export interface BodyTexts {
  /** The body, such as `receiver.receive: body`. */
  readonly given: string
  /** What a function returned that was given as the body. */
  readonly returned: string
  /** What to pass in place of a value that has no bytes. */
  readonly cure: string
  /** What to do if other code has read the body. */
  readonly cureOfRead: string
}

export const RECEIVED_BODY: BodyTexts = {
  given: 'receiver.receive: body',
  returned: 'receiver.receive: what the function body returned',
  cure:
    'pass the bytes as they arrived, or a function that returns bytes, a stream of bytes or a promise of bytes. In Fastify ' +
    'register the plugin of countersign/fastify; in Express mount receiver.middleware() before express.json(); on AWS Lambda ' +
    "pass Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')",
  cureOfRead: 'pass the stream before other code reads it, or pass the bytes that were read',
}

export const FETCHED_BODY: BodyTexts = {
  given: 'receiver.fetch: the body of the request',
  returned: 'receiver.fetch: the body of the request',
  cure: 'pass the Request of the Fetch API as it arrived',
  cureOfRead: 'pass the request before other code reads it, and give request.clone() to the other code',
}

type Source = Readable | AsyncIterable<Uint8Array> | PromiseLike<Uint8Array>

/**
 * Reads the body within its limits, or returns why there is none. A refused source is not touched: its server ends
 * it.
 */
export function readPlainBody(
  body: PlainRequest['body'],
  options: ReadBodyOptions,
  texts: BodyTexts,
): Promise<RawBody | BodyFailure> | RawBody | BodyFailure {
  const what = typeof body === 'function' ? texts.returned : texts.given
  try {
    const source: unknown = typeof body === 'function' ? body() : body
    if (ArrayBuffer.isView(source)) return ofBytes(source, options.limits)
    if (!isSource(source)) return noBytes(`${what} is ${kindOf(source)}: ${texts.cure}`)
    const isEmpty = source instanceof Readable && endedEmpty(source)
    if (isEmpty && !isDeclared(options.contentLength)) return ofBytes(Buffer.alloc(0), options.limits)
    if (source instanceof Readable && source.readableAborted && !source.readableDidRead)
      return aborted(what, source.errored ?? undefined)
    if (isEmpty) {
      const problem = 'has ended without a byte, although Content-Length is above 0'
      return noBytes(`${what} ${problem}: ${texts.cureOfRead}`)
    }
    if (isRead(source)) {
      const problem = 'was read before, or is being read, by other code, so the signed bytes are gone'
      return noBytes(`${what} ${problem}: ${texts.cureOfRead}`)
    }
    // Throws if the method that starts the iterator throws.
    const stream =
      source instanceof Readable ? source : Readable.from('then' in source ? once(source) : source)
    return readStream(stream, options, { what, cure: texts.cure, source })
  } catch (error) {
    return { refused: 'ERR_BODY_SOURCE_FAILED', error }
  }
}

function ofBytes(
  { buffer, byteOffset, byteLength }: ArrayBufferView,
  { maxBodyBytes }: BodyLimits,
): RawBody | BodyFailure {
  if (byteLength > maxBodyBytes) return 'ERR_BODY_TOO_LARGE'
  return { bytes: Buffer.from(buffer, byteOffset, byteLength), release() {} }
}

function noBytes(reason: string): BodyFailure {
  return { refused: 'ERR_BODY_ALREADY_READ', reason }
}

function isSource(value: unknown): value is Source {
  return typeof value === 'object' && value !== null && ('then' in value || Symbol.asyncIterator in value)
}

function isRead(source: Source): boolean {
  if (source instanceof Readable) return !isUnread(source)
  return Readable.isDisturbed(source as unknown as Readable) || ('locked' in source && source.locked === true)
}

async function readStream(
  stream: Readable,
  options: ReadBodyOptions,
  { what, cure, source }: { what: string; cure: string; source: Source },
): Promise<RawBody | BodyFailure> {
  let error: unknown
  // The listener stays, because the source may fail after the body has been refused.
  stream.on('error', (cause: unknown) => (error ??= cause))
  const body = await readBody(stream, options)
  if (body === 'ERR_BODY_ALREADY_READ')
    return noBytes(`${what} has a piece that is not a Uint8Array, such as a decoded text: ${cure}`)
  if (body !== 'ERR_BODY_ABORTED' || error === undefined) return body
  return source instanceof Readable || 'getReader' in source
    ? aborted(what, error)
    : { refused: 'ERR_BODY_SOURCE_FAILED', error }
}

/** A stream fails if the sender closes the connection. */
function aborted(what: string, error: unknown): BodyFailure {
  const reason = `${what} failed: the sender closed the connection, or err says why`
  return { refused: 'ERR_BODY_ABORTED', reason, error }
}

async function* once(bytes: PromiseLike<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield await bytes
}
