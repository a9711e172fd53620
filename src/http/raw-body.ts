import type { IncomingMessage } from 'node:http'
import { performance } from 'node:perf_hooks'
import { timer, afterCurrentTick } from '../base/timeout.js'
import { durationOption, integerOption, invalidOption } from '../base/option-checks.js'
import type { OutcomeCode } from '../callback/outcomes.js'
import type { HeaderValue } from '../signature/index.js'
import { BodyBuffer } from './body-buffer.js'
import type { BodyMemory } from './body-memory.js'

export interface BodyLimitOptions {
  /** The largest body that is read, in bytes; a larger one is answered 413. @default 1_048_576 (1 MiB) */
  readonly maxBodyBytes?: number | undefined
  /** How long a body may take from first to last byte, in milliseconds; a slower one is answered 408. @default 10_000 */
  readonly bodyTimeoutMs?: number | undefined
  /**
   * How much the bodies of all unfinished requests may take together, in bytes; beyond it new bodies are answered 503. At
   * least twice `maxBodyBytes`. @default 67_108_864 (64 MiB), or twice `maxBodyBytes` where that is more
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

/** A request whose bytes were kept, by `captureRawBody()`, a cloud function's runtime, or a parser's `verify` option. */
type WithBody = IncomingMessage & { rawBody?: unknown; body?: unknown }

export interface RawBody {
  /** The bytes as they arrived. */
  readonly bytes: Buffer
  /** To be called when they are no longer needed: until then they count towards `maxBufferedBytes`. */
  release(): void
}

type BodyFailure = Extract<OutcomeCode, `ERR_BODY_${string}` | 'ERR_SHUTTING_DOWN'>

/**
 * The body, or why there is none. Reads the request at most once, and never waits for a body that somebody else has read
 * already: nothing would come any more.
 */
export function readRawBody(
  request: WithBody,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
  memory: BodyMemory,
  { contentLength, stopping }: { contentLength: HeaderValue; stopping: AbortSignal | undefined },
): Promise<RawBody | BodyFailure> | RawBody | BodyFailure {
  const kept = keptBytes(request)
  if (kept) return kept.length > maxBodyBytes ? 'ERR_BODY_TOO_LARGE' : { bytes: kept, release() {} }
  if (request.readableAborted) return 'ERR_BODY_ABORTED'
  // A decoder on the stream has changed what is still to come.
  if (
    request.readableDidRead ||
    request.readableEnded ||
    request.readable === false ||
    request.readableEncoding
  )
    return 'ERR_BODY_ALREADY_READ'

  return new Promise((resolve) => {
    const declared = contentLength === undefined ? undefined : Number(contentLength)
    const body = new BodyBuffer(memory, maxBodyBytes, declared)

    const startedAt = performance.now()
    let pieces = 0

    const onData = (piece: Buffer | string): void => {
      // A timer cannot fire while the event loop is busy with the pieces that arrive: 64 KB may hold ten thousand.
      if (++pieces % CHECK_TIME_EVERY === 0 && performance.now() - startedAt > bodyTimeoutMs)
        return fail('ERR_BODY_TIMEOUT')
      const failure = typeof piece === 'string' ? 'ERR_BODY_ALREADY_READ' : body.append(piece)
      if (failure) fail(failure)
    }
    const onEnd = (): void => {
      leave()
      resolve({ bytes: body.bytes(), release: () => body.release() })
    }
    const onAbort = (): void => fail('ERR_BODY_ABORTED')
    const onStop = (): void => fail('ERR_SHUTTING_DOWN')
    const fail = (failure: BodyFailure): void => {
      leave()
      body.release()
      // What still comes must not be buffered. Whether it is read and thrown away is for the answer to decide.
      request.pause()
      resolve(failure)
    }

    const cancelLimits = afterCurrentTick(() => {
      if (stopping?.aborted) {
        onStop()
        return () => {}
      }
      // A bound on the whole body: one on each pause would let a sender trickle a byte at a time for ever.
      const cancelTimer = timer(bodyTimeoutMs, () => fail('ERR_BODY_TIMEOUT'))
      // A stop does not wait for a body either: an unauthenticated sender may send it slowly.
      stopping?.addEventListener('abort', onStop)
      return () => {
        cancelTimer()
        stopping?.removeEventListener('abort', onStop)
      }
    })
    const leave = (): void => {
      cancelLimits()
      request.off('data', onData).off('end', onEnd)
      for (const event of ABORTS) request.off(event, onAbort)
    }
    for (const event of ABORTS) request.on(event, onAbort)
    request.on('data', onData).on('end', onEnd)
  })
}

/** Pieces of a body. */
const CHECK_TIME_EVERY = 1_024

const ABORTS = ['aborted', 'error', 'close'] as const

function keptBytes({ rawBody, body }: WithBody): Buffer | undefined {
  const bytes = ArrayBuffer.isView(rawBody) ? rawBody : Buffer.isBuffer(body) ? body : undefined
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
