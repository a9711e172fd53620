import { isPending, type MaybePending } from '../base/pending.js'
import { admit } from '../callback/admission.js'
import type { CallbackHeaders, CallbackRequest } from '../callback/callback.js'
import type { Refusal } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import { BodyMemory } from './body-memory.js'
import type { CallbackHead } from './callback-head.js'
import type { BodyLimits } from './body-limits.js'
import type { BodyFailure, RawBody, ReadBodyOptions } from './read-body.js'

/** A request, from any server. */
export interface CallbackSource {
  readonly head: CallbackHead
  /** Called before the body is read. Not called if the headers are a reason to refuse the request, unless it is a probe. */
  beforeBody?(): void
  /** Returns a promise only if it has to wait for bytes. */
  readBody(options: ReadBodyOptions): MaybePending<RawBody | BodyFailure>
}

/** Resolves once the event loop has read what has arrived, at the same time for all callbacks of one batch. */
export type JoinBatch = () => Promise<void>

/** What was read of a request, or why it is refused. */
export type Intake =
  | (Refusal & { readonly headers: CallbackHeaders; readonly body?: undefined; readonly release?: undefined })
  | (CallbackRequest & {
      readonly refused?: undefined
      readonly credentials: Credentials
      readonly body: Buffer
      /** Call it when the body is no longer needed. */
      release(): void
    })

/**
 * The largest body that waits for a batch. The verification of a larger one takes longer than a batch saves, and a batch would keep
 * many large bodies in memory.
 */
const MAX_BATCHED_BYTES = 16_384

/**
 * Converts a request to plain values. The headers are checked before the body is read. All requests of one reader
 * share its `maxBufferedBytes`. A callback whose body has to be waited for joins a batch afterwards, if there are batches.
 * `stopping`: when it is aborted, no body is waited for any longer.
 */
export function callbackReader(limits: BodyLimits, stopping?: AbortSignal) {
  const memory = new BodyMemory(limits.maxBufferedBytes)

  function readCallback(source: CallbackSource, joinBatch?: JoinBatch): MaybePending<Intake> {
    const { method, path, headers, mayLackHeaders } = source.head
    if (mayLackHeaders) return { headers, refused: 'ERR_HEADERS_TOO_MANY' }
    const credentials = admit(method, headers, limits.maxBodyBytes)
    if (typeof credentials === 'string') return { headers, refused: credentials }
    const intake = (raw: RawBody | BodyFailure): Intake =>
      isFailure(raw)
        ? { headers, ...refusalOf(raw) }
        : { path, headers, credentials, body: raw.bytes, release: raw.release }
    const reading = readBody(source)
    if (!isPending(reading)) return intake(reading)
    return reading.then((raw) => {
      const joins = !isFailure(raw) && raw.bytes.length <= MAX_BATCHED_BYTES
      return joinBatch && joins ? joinBatch().then(() => intake(raw)) : intake(raw)
    })
  }

  /** For a probe also after the headers were a reason to refuse the request. */
  function readBody(source: CallbackSource): MaybePending<RawBody | BodyFailure> {
    if (stopping?.aborted) return 'ERR_SHUTTING_DOWN'
    source.beforeBody?.()
    const { contentLength } = source.head.headers
    return source.readBody({ limits, memory, contentLength, stopping })
  }

  return { readCallback, readBody }
}

export function isFailure(raw: RawBody | BodyFailure): raw is BodyFailure {
  return typeof raw === 'string' || 'refused' in raw
}

export function refusalOf(failure: BodyFailure): Refusal {
  return typeof failure === 'string' ? { refused: failure } : failure
}
