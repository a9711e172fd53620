import type { IncomingMessage } from 'node:http'
import { admit } from '../admission.js'
import type { CallbackHeaders, CallbackRequest } from '../callback.js'
import type { OutcomeCode } from '../outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import { callbackHeaders } from './callback-headers.js'
import { nextTurn } from './next-turn.js'
import { readRawBody, type BodyLimits } from './raw-body.js'

export type Intake =
  | { readonly headers: CallbackHeaders; readonly refused: OutcomeCode }
  | (CallbackRequest & {
      readonly refused?: undefined
      readonly credentials: Credentials
      readonly body: Buffer
    })

const SMALL_BODY_BYTES = 16_384

/**
 * From a request to plain values. `beforeBody` is called when the head of the request gave no reason to refuse, and may
 * have one of its own. A body that is on its way when `stopping` is aborted is not waited for.
 */
export async function readCallback(
  request: IncomingMessage & { originalUrl?: string },
  limits: BodyLimits,
  { beforeBody, stopping }: { beforeBody?: () => OutcomeCode | undefined; stopping?: AbortSignal } = {},
): Promise<Intake> {
  // If so, the request has waited for its turn already: one that is seen at once is seen before its body.
  const isComplete = request.complete
  const headers = callbackHeaders(request)
  const credentials = admit(request.method, headers, limits.maxBodyBytes)
  if (typeof credentials === 'string') return { headers, refused: credentials }
  const refused = beforeBody?.()
  if (refused) return { headers, refused }
  const body = await readRawBody(request, limits, stopping)
  if (typeof body === 'string') return { headers, refused: body }
  // A large one goes ahead: to verify it takes longer than to wait saves, and many would be held in memory meanwhile.
  if (!isComplete && body.length <= SMALL_BODY_BYTES) await nextTurn()
  return { path: request.originalUrl ?? request.url ?? '/', headers, credentials, body }
}
