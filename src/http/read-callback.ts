import { admit } from '../callback/admission.js'
import type { CallbackHeaders, CallbackRequest } from '../callback/callback.js'
import type { OutcomeCode } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import { BodyMemory } from './body-memory.js'
import type { RequestSource } from './callback-headers.js'
import type { BodyLimits } from './raw-body.js'
import type { BodyFailureCode, RawBody, ReadBodyOptions } from './read-body.js'

/** What is known of a request before its body is read. */
export interface CallbackHead {
  readonly method: string | undefined
  readonly path: string
  readonly headers: CallbackHeaders
  /** Whether there were so many header lines that Node may have dropped some. */
  readonly mayLackHeaders: boolean
  /** The request itself, for what is needed of refused requests only. */
  readonly request: RequestSource
}

/** Returns a promise only if it has to wait for bytes. */
export type ReadBody = (
  options: ReadBodyOptions,
) => Promise<RawBody | BodyFailureCode> | RawBody | BodyFailureCode

export type Intake =
  | {
      readonly headers: CallbackHeaders
      readonly refused: OutcomeCode
      /** Only of a probe: other refused bodies are not read. */
      readonly body?: Buffer
      release?(): void
    }
  | (CallbackRequest & {
      readonly refused?: undefined
      readonly credentials: Credentials
      readonly body: Buffer
      /** Call it when the body is no longer needed. */
      release(): void
    })

const SMALL_BODY_BYTES = 16_384

export interface ReadOptions {
  /** Called if the headers give no reason to refuse the request. It may return a reason of its own. */
  readonly beforeBody?: (() => OutcomeCode | undefined) | undefined
  /** Asked if the headers are a reason to refuse the request: whether its body is read nevertheless. */
  readonly isProbe?: ((refused: OutcomeCode) => Promise<boolean> | false) | undefined
  /** When it is aborted, unfinished bodies are not waited for. */
  readonly stopping?: AbortSignal | undefined
  /** Joins a batch once the body has arrived. Absent if the request has already joined one. */
  readonly joinBatch?: (() => Promise<void>) | undefined
}

/**
 * Converts a request to plain values. The headers are checked before the body is read. All requests of one reader
 * share its `maxBufferedBytes`.
 */
export function callbackReader(limits: BodyLimits) {
  const memory = new BodyMemory(limits.maxBufferedBytes)

  return async function readCallback(
    { method, path, headers, mayLackHeaders }: CallbackHead,
    readBody: ReadBody,
    { beforeBody, isProbe, stopping, joinBatch }: ReadOptions = {},
  ): Promise<Intake> {
    if (mayLackHeaders) return { headers, refused: 'ERR_HEADERS_TOO_MANY' }
    const credentials = admit(method, headers, limits.maxBodyBytes)
    if (typeof credentials === 'string') {
      const probing = isProbe?.(credentials)
      if (!probing || !(await probing)) return { headers, refused: credentials }
    }
    const refused = beforeBody?.()
    if (refused) return { headers, refused }
    const { contentLength } = headers
    const reading = readBody({ limits, memory, contentLength, stopping })
    const raw = await reading
    if (typeof raw === 'string') return { headers, refused: raw }
    const { bytes: body, release } = raw
    if (typeof credentials === 'string') return { headers, refused: credentials, body, release }
    // A large body does not wait for a batch: its verification takes longer than a batch saves, and a batch would
    // keep many large bodies in memory.
    if (joinBatch && reading instanceof Promise && body.length <= SMALL_BODY_BYTES) await joinBatch()
    return { path, headers, credentials, body, release }
  }
}
