import type { IncomingMessage } from 'node:http'
import { admit } from '../callback/admission.js'
import type { CallbackHeaders, CallbackRequest } from '../callback/callback.js'
import type { OutcomeCode } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import { BodyMemory } from './body-memory.js'
import { callbackHeaders, mayLackHeaders } from './callback-headers.js'
import { nextTurn } from './batch.js'
import { readRawBody, type BodyLimits } from './raw-body.js'

export type Intake =
  | { readonly headers: CallbackHeaders; readonly refused: OutcomeCode }
  | (CallbackRequest & {
      readonly refused?: undefined
      readonly credentials: Credentials
      readonly body: Buffer
      /** To be called when the body is no longer needed. */
      release(): void
    })

const SMALL_BODY_BYTES = 16_384

export interface ReadOptions {
  /** Called when the head of the request gave no reason to refuse it; may have a reason of its own. */
  readonly beforeBody?: () => OutcomeCode | undefined
  /** When it is aborted, bodies that are on their way are not waited for. */
  readonly stopping?: AbortSignal
}

/** From a request to plain values. All requests that go through one reader share its `maxBufferedBytes`. */
export function callbackReader(limits: BodyLimits) {
  const memory = new BodyMemory(limits.maxBufferedBytes)

  return async function readCallback(
    request: IncomingMessage & { originalUrl?: string },
    { beforeBody, stopping }: ReadOptions = {},
  ): Promise<Intake> {
    // If so, the request has waited for its turn already: one that is seen at once is seen before its body.
    const isComplete = request.complete
    const headers = callbackHeaders(request)
    if (mayLackHeaders(request)) return { headers, refused: 'ERR_HEADERS_TOO_MANY' }
    const credentials = admit(request.method, headers, limits.maxBodyBytes)
    if (typeof credentials === 'string') return { headers, refused: credentials }
    const refused = beforeBody?.()
    if (refused) return { headers, refused }
    const { contentLength } = headers
    const raw = await readRawBody(request, { limits, memory, contentLength, stopping })
    if (typeof raw === 'string') return { headers, refused: raw }
    const { bytes: body, release } = raw
    // A large one goes ahead: to verify it takes longer than to wait saves, and many would be held in memory meanwhile.
    if (!isComplete && body.length <= SMALL_BODY_BYTES) await nextTurn()
    return { path: request.originalUrl ?? request.url ?? '/', headers, credentials, body, release }
  }
}
