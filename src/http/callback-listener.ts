import type { IncomingMessage, ServerResponse } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { CallbackHeaders, CallbackRequest } from '../callback/callback.js'
import { outcome, type Outcome } from '../callback/outcomes.js'
import type { Credentials } from '../signature/credentials.js'
import type { BodyLimits } from './raw-body.js'
import { callbackReader } from './read-callback.js'
import { respond } from './respond.js'

export interface ListenerParts {
  readonly limits: BodyLimits
  /** Aborted when no more callbacks are taken in. */
  readonly stopping: AbortSignal
  readonly receive: (callback: CallbackRequest, credentials: Credentials) => Promise<Outcome>
  readonly onAnswered: (outcome: Outcome, headers: CallbackHeaders, durationMs: number) => void
}

/** Answers one request. Never throws and never rejects: whatever happens, the sender gets an answer. */
export type CallbackListener = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Given when the sender waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
  sendContinue?: () => void,
) => Promise<void>

export function callbackListener({ limits, stopping, receive, onAnswered }: ListenerParts): CallbackListener {
  const readCallback = callbackReader(limits)
  return async (request, response, sendContinue) => {
    const startedAt = performance.now()
    let awaitsContinue = sendContinue !== undefined
    const beforeBody = () => {
      if (stopping.aborted) return 'ERR_SHUTTING_DOWN'
      sendContinue?.()
      awaitsContinue = false
      return undefined
    }
    const intake = await readCallback(request, { beforeBody, stopping })
    let result
    try {
      result = intake.refused ? outcome(intake.refused) : await receive(intake, intake.credentials)
    } catch (error) {
      result = outcome('ERR_INTERNAL', undefined, error)
    } finally {
      if (!intake.refused) intake.release()
    }
    respond(request, response, result, { lingerMs: limits.bodyTimeoutMs, awaitsContinue })
    onAnswered(result, intake.headers, performance.now() - startedAt)
  }
}
