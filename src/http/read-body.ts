import { performance } from 'node:perf_hooks'
import type { Readable } from 'node:stream'
import getRawBody from 'raw-body'
import { timer, afterCurrentTick } from '../base/timeout.js'
import type { OutcomeCode, Refusal } from '../callback/outcomes.js'
import type { HeaderValue } from '../signature/credentials.js'
import type { BodyMemory } from './body-memory.js'
import { CoalescedBody } from './coalesced-body.js'
import type { BodyLimits } from './body-limits.js'

export interface RawBody {
  /** The bytes as they arrived. */
  readonly bytes: Buffer
  /** Call it when the bytes are no longer needed. Until then they count towards `maxBufferedBytes`. */
  release(): void
}

export type BodyFailureCode = Extract<OutcomeCode, `ERR_BODY_${string}` | 'ERR_SHUTTING_DOWN'>

/** Why there is no body: a code, or an object if more than the code is known. */
export type BodyFailure = BodyFailureCode | (Refusal & { readonly refused: BodyFailureCode })

export interface ReadBodyOptions {
  readonly limits: BodyLimits
  /** Shared by all bodies that count towards one `maxBufferedBytes`. */
  readonly memory: BodyMemory
  readonly contentLength: HeaderValue
  readonly stopping: AbortSignal | undefined
}

/** How many pieces of a body are read between two checks of the elapsed time. */
const CHECK_TIME_EVERY = 1_024

const ABORTS = ['aborted', 'error', 'close'] as const

/** A refusal of a body that raw-body does not refuse itself. */
class BodyError extends Error {
  constructor(readonly code: BodyFailureCode) {
    super(code)
  }
}

/** Reads a stream that nothing has been read from. If the body is refused, the stream is left paused. */
export function readBody(
  stream: Readable,
  { limits, memory, contentLength, stopping }: ReadBodyOptions,
): Promise<RawBody | BodyFailureCode> {
  const { maxBodyBytes, bodyTimeoutMs } = limits
  return new Promise((resolve) => {
    const declared = Number(contentLength)
    // A server in front of receive() or fetch() may pass on a value that is not a number. With NaN, nothing would be limited.
    const length = declared >= 0 ? declared : undefined
    const body = new CoalescedBody(memory, maxBodyBytes, length)
    const fail = (code: BodyFailureCode): void => void body.emit('error', new BodyError(code))
    body.once('evicted', () => fail('ERR_BODY_MEMORY_FULL'))

    const startedAt = performance.now()
    let pieces = 0
    const onData = (piece: unknown): void => {
      // A timer cannot fire while the event loop processes the pieces that arrive: 64 KB may have ten thousand of
      // them.
      if (++pieces % CHECK_TIME_EVERY === 0 && performance.now() - startedAt > bodyTimeoutMs)
        return fail('ERR_BODY_TIMEOUT')
      const bytes = bytesOf(piece)
      // A decoder was attached to the stream after the check, or an adapter passed a stream of objects.
      if (!bytes) return fail('ERR_BODY_ALREADY_READ')
      if (!body.write(bytes)) fail('ERR_BODY_MEMORY_FULL')
    }
    const onEnd = (): void => body.end()
    const onAbort = (): void => void body.emit('aborted')
    const onStop = (): void => fail('ERR_SHUTTING_DOWN')

    const cancelLimits = afterCurrentTick(() => {
      if (stopping?.aborted) {
        onStop()
        return () => {}
      }
      // The limit is on the whole body. With a limit on each pause, a sender could send one byte at a time without
      // end.
      const cancelTimer = timer(bodyTimeoutMs, () => fail('ERR_BODY_TIMEOUT'))
      // A stop does not wait for a body either, because an unauthenticated sender may send it slowly.
      stopping?.addEventListener('abort', onStop)
      return () => {
        cancelTimer()
        stopping?.removeEventListener('abort', onStop)
      }
    })

    const readable = body as unknown as NodeJS.ReadableStream
    getRawBody(readable, { limit: maxBodyBytes, length: length ?? null }, (error, joined) => {
      cancelLimits()
      stream.off('data', onData).off('end', onEnd)
      for (const event of ABORTS) stream.off(event, onAbort)
      if (!error) return resolve({ bytes: body.settle(joined), release: () => body.release() })
      body.release()
      // Later bytes must not be buffered. The answer decides whether they are read and discarded.
      stream.pause()
      resolve(failureCode(error))
    })
    for (const event of ABORTS) stream.on(event, onAbort)
    // A stream that other code has paused would otherwise stay paused.
    stream.on('data', onData).on('end', onEnd).resume()
  })
}

/** A stream in object mode may have pieces of any type. */
function bytesOf(piece: unknown): Buffer | undefined {
  if (Buffer.isBuffer(piece)) return piece
  return ArrayBuffer.isView(piece) ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : undefined
}

function failureCode(error: getRawBody.RawBodyError | BodyError): BodyFailureCode {
  if (error instanceof BodyError) return error.code
  return error.type === 'entity.too.large' ? 'ERR_BODY_TOO_LARGE' : 'ERR_BODY_ABORTED'
}
