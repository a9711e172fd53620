import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { timer, unlessSoonOver } from '../in-time.js'
import { durationOption, integerOption } from '../option-checks.js'
import type { OutcomeCode } from '../outcomes.js'

export interface BodyLimitOptions {
  /** The largest body that is read, in bytes; a larger one is answered 413. @default 1_048_576 (1 MiB) */
  readonly maxBodyBytes?: number | undefined
  /** How long a body may take from first to last byte, in milliseconds; a slower one is answered 408. @default 10_000 */
  readonly bodyTimeoutMs?: number | undefined
}

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
}

export function bodyLimits(owner: string, { maxBodyBytes, bodyTimeoutMs }: BodyLimitOptions): BodyLimits {
  return {
    maxBodyBytes: integerOption(owner, 'maxBodyBytes', maxBodyBytes, { fallback: 1_048_576, min: 1 }),
    bodyTimeoutMs: durationOption(owner, 'bodyTimeoutMs', bodyTimeoutMs, 10_000),
  }
}

/** A request whose bytes were kept, by `captureRawBody()`, a cloud function's runtime, or a parser's `verify` option. */
type WithBody = IncomingMessage & { rawBody?: unknown; body?: unknown }

type BodyFailure = Extract<OutcomeCode, `ERR_BODY_${string}` | 'ERR_SHUTTING_DOWN'>

/**
 * The bytes of the body as they arrived, or why there are none. Reads the request at most once, and never waits for a
 * body that somebody else has read already: nothing would come any more.
 */
export function readRawBody(
  request: WithBody,
  limits: BodyLimits,
  stopping?: AbortSignal,
): Promise<Buffer | BodyFailure> | Buffer | BodyFailure {
  const kept = keptBytes(request)
  if (kept) return kept.length > limits.maxBodyBytes ? 'ERR_BODY_TOO_LARGE' : kept
  if (request.readableAborted) return 'ERR_BODY_ABORTED'
  if (request.readableDidRead || request.readableEnded) return 'ERR_BODY_ALREADY_READ'

  return new Promise((resolve) => {
    const leave = unlessSoonOver(() => {
      // A bound on the whole body: one on each pause would let a sender trickle a byte at a time for ever.
      const cancel = timer(limits.bodyTimeoutMs, () => resolve('ERR_BODY_TIMEOUT'))
      // Nor is a stop held up: who sends slowly may be anybody.
      const onStop = () => resolve('ERR_SHUTTING_DOWN')
      if (stopping?.aborted) onStop()
      stopping?.addEventListener('abort', onStop)
      return () => {
        cancel()
        stopping?.removeEventListener('abort', onStop)
      }
    })
    getRawBody(request, { limit: limits.maxBodyBytes }, (error, bytes) => {
      leave()
      resolve(error ? failure(error.type) : bytes)
    })
  })
}

function keptBytes({ rawBody, body }: WithBody): Buffer | undefined {
  const bytes = ArrayBuffer.isView(rawBody) ? rawBody : Buffer.isBuffer(body) ? body : undefined
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function failure(type: string): BodyFailure {
  if (type === 'entity.too.large') return 'ERR_BODY_TOO_LARGE'
  // Somebody attached a decoder to the stream, or began to read between our look at it and now.
  if (type === 'stream.encoding.set' || type === 'stream.not.readable') return 'ERR_BODY_ALREADY_READ'
  return 'ERR_BODY_ABORTED'
}
