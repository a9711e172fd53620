import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { durationOption, integerOption, invalidOption } from '../base/option-checks.js'
import { endOfTick, mayArriveInThisTick, readArrivedBody } from './arrived-body.js'
import { readBody, type BodyFailureCode, type RawBody, type ReadBodyOptions } from './read-body.js'

export interface BodyLimitOptions {
  /** The largest body that is read, in bytes; a larger one is answered 413. @default 1_048_576 (1 MiB) */
  readonly maxBodyBytes?: number | undefined
  /**
   * How long a body may take, from the first to the last byte, in milliseconds; a slower one is answered 408.
   * @default 10_000
   */
  readonly bodyTimeoutMs?: number | undefined
  /**
   * How many bytes the bodies of all unfinished requests may use together. Above it new bodies are answered 503. At
   * least twice `maxBodyBytes`. @default 67_108_864 (64 MiB), or twice `maxBodyBytes` if that is more
   */
  readonly maxBufferedBytes?: number | undefined
}

export const BODY_LIMIT_OPTIONS = [
  'maxBodyBytes',
  'bodyTimeoutMs',
  'maxBufferedBytes',
] as const satisfies readonly (keyof BodyLimitOptions)[]

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  readonly maxBufferedBytes: number
}

export function bodyLimits(owner: string, options: BodyLimitOptions): BodyLimits {
  const max = Number.MAX_SAFE_INTEGER / 2
  const maxBodyBytes = integerOption(owner, 'maxBodyBytes', options.maxBodyBytes, {
    fallback: 1_048_576,
    min: 1,
    max: Math.floor(max),
  })
  const maxBufferedBytes = integerOption(owner, 'maxBufferedBytes', options.maxBufferedBytes, {
    fallback: Math.max(67_108_864, 2 * maxBodyBytes),
    min: 1,
  })
  if (maxBufferedBytes < 2 * maxBodyBytes) {
    const cure = `use at least twice maxBodyBytes (${2 * maxBodyBytes}), or lower that`
    throw invalidOption(owner, 'maxBufferedBytes', maxBufferedBytes, cure)
  }
  return {
    maxBodyBytes,
    bodyTimeoutMs: durationOption(owner, 'bodyTimeoutMs', options.bodyTimeoutMs, 10_000),
    maxBufferedBytes,
  }
}

/**
 * A request whose bytes were kept by `captureRawBody()`, the runtime of a cloud function, or a parser's `verify`
 * option.
 */
type WithBody = IncomingMessage & { rawBody?: unknown; body?: unknown }

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
  const read = () => readStream(request, options)
  return mayArriveInThisTick(request, options) ? endOfTick().then(read) : read()
}

function readStream(
  request: IncomingMessage,
  options: ReadBodyOptions,
): Promise<RawBody | BodyFailureCode> | RawBody | BodyFailureCode {
  if (request.readableAborted) return 'ERR_BODY_ABORTED'
  if (!isUnread(request)) return 'ERR_BODY_ALREADY_READ'
  return readArrivedBody(request, options) ?? readBody(request, options)
}

/** Whether a stream still has all its bytes unchanged. A decoder on the stream would change them. */
export function isUnread(stream: Readable): boolean {
  const { readable, readableDidRead, readableEnded, readableEncoding } = stream
  // The requests of some adapters lack these properties.
  return readable !== false && !readableDidRead && !readableEnded && !readableEncoding
}

function keptBytes({ rawBody, body }: WithBody): Buffer | undefined {
  const bytes = ArrayBuffer.isView(rawBody) ? rawBody : Buffer.isBuffer(body) ? body : undefined
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
