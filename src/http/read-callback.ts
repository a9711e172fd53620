import { isPending, whenDone, type MaybePending } from '../base/pending.js'
import { admit } from '../callback/admission.js'
import type { CallbackRequest, ReadRequest } from '../callback/callback.js'
import type { Refusal } from '../callback/outcomes.js'
import { BodyMemory } from './body-memory.js'
import type { BodyLimits } from './body-limits.js'
import type { BodyFailure, RawBody, ReadBodyOptions } from './read-body.js'

/** A request, from any server, and the way to read its body. */
export interface CallbackSource {
  readonly request: CallbackRequest
  /** Called before the body is read. Not called if the headers are a reason to refuse the request, unless it is a probe. */
  beforeBody?(): void
  /** Returns a promise only if it has to wait for bytes. */
  readBody(options: ReadBodyOptions): MaybePending<RawBody | BodyFailure>
}

/** Resolves once the event loop has read what has arrived, at the same time for all callbacks of one batch. */
export type JoinBatch = () => Promise<void>

/**
 * The largest body that waits for a batch. The verification of a larger one takes longer than a batch saves, and a batch would keep
 * many large bodies in memory.
 */
const MAX_BATCHED_BYTES = 16_384

/**
 * Reads requests. The headers are checked before the body is read. All requests of one reader share its `maxBufferedBytes`. A
 * callback whose body has to be waited for joins a batch afterwards, if there are batches.
 * `stopping`: when it is aborted, no body is waited for any longer.
 */
export function callbackReader(limits: BodyLimits, stopping?: AbortSignal) {
  const memory = new BodyMemory(limits.maxBufferedBytes)

  function readCallback(source: CallbackSource, joinBatch?: JoinBatch): MaybePending<ReadRequest | Refusal> {
    const { request } = source
    const credentials = admit(request, limits.maxBodyBytes)
    if (typeof credentials === 'string') return { refused: credentials }
    request.credentials = credentials
    const reading = rawBody(source)
    if (!isPending(reading)) return keepBody(request, reading)
    return reading.then((raw) => {
      const joins = joinBatch && !isFailure(raw) && raw.bytes.length <= MAX_BATCHED_BYTES
      return joins ? joinBatch().then(() => keepBody(request, raw)) : keepBody(request, raw)
    })
  }

  /** For a probe that was refused for its headers. */
  function readBody(source: CallbackSource): MaybePending<CallbackRequest | Refusal> {
    return whenDone(rawBody(source), (raw) => keepBody(source.request, raw))
  }

  function rawBody(source: CallbackSource): MaybePending<RawBody | BodyFailure> {
    if (stopping?.aborted) return 'ERR_SHUTTING_DOWN'
    source.beforeBody?.()
    const { contentLength } = source.request.headers
    return source.readBody({ limits, memory, contentLength, stopping })
  }

  return { readCallback, readBody }
}

function keepBody(request: CallbackRequest, raw: RawBody | BodyFailure): ReadRequest | Refusal {
  if (isFailure(raw)) return typeof raw === 'string' ? { refused: raw } : raw
  request.body = raw.bytes
  request.release = raw.release
  return request as ReadRequest
}

function isFailure(raw: RawBody | BodyFailure): raw is BodyFailure {
  return typeof raw === 'string' || 'refused' in raw
}
