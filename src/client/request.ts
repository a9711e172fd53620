import { deadline } from '../base/timeout.js'
import type { Logger } from '../logging/logger.js'
import { linkedController, untilAborted } from '../base/abort.js'
import { ClientError } from './client-error.js'
import type { FetchResponse, SendRequest } from './connections.js'
import { isRefusal, type AttemptEffect, type Effect } from './effect.js'
import { ProxyVariableError } from './proxy-variables.js'
import { BodyTooLarge, MAX_BODY_BYTES, parseBody, readBody } from './read-body.js'
import { briefly, safeCause } from './safe-cause.js'

/** The service's answer. The service documents neither statuses nor bodies, so nothing is assumed about them. */
export interface ServiceResponse {
  readonly status: number
  /** The status is 2xx. */
  readonly ok: boolean
  /** Names in lower case; a repeated header's values are joined with a comma. */
  readonly headers: Record<string, string>
  /** Parsed JSON, whatever its Content-Type; the text of a body that is not JSON; undefined when it is empty. */
  readonly body: unknown
}

export interface ServiceRequest {
  readonly method: 'POST' | 'PUT'
  /** Relative to the base address, escaped. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Texts of this request that no error may contain. */
  readonly hidden: readonly string[]
  /** Records what each attempt may have done; absent if the caller does not need it. */
  readonly effect?: Effect | undefined
}

/** An answer of any status, or none. Without an answer the request may be retried unless the failure is final. */
export type Attempt = { readonly response: ServiceResponse } | FailedAttempt

interface FailedAttempt {
  readonly failure: ClientError
  /** Another attempt would fail in the same way. */
  readonly isFinal: boolean
}

export interface ServiceAccess {
  readonly baseUrl: string
  readonly send: SendRequest
  /** Texts that no error may contain: the client secret, and every token that was received. */
  readonly hidden: () => readonly string[]
  readonly timeoutMs: number
  readonly logger: Logger
}

/**
 * Makes one HTTP call. `number` is the number of the attempt, for the log.
 * @throws ClientError if the failure is final; the reason of the signal
 */
export async function attemptRequest(
  access: ServiceAccess,
  request: ServiceRequest,
  number: number,
  signal: AbortSignal,
): Promise<Attempt> {
  const startedAt = performance.now()
  const attempt = await answerInTime(access, request, signal)
  const fields = {
    method: request.method,
    path: new URL(access.baseUrl + request.path).pathname,
    attempt: number,
    durationMs: Math.round(performance.now() - startedAt),
  }
  if ('response' in attempt) {
    access.logger.debug({ ...fields, status: attempt.response.status }, 'the service answered')
    return attempt
  }
  const { failure, isFinal } = attempt
  access.logger.info({ ...fields, code: failure.code, err: failure }, 'no usable answer')
  if (isFinal) throw failure
  return attempt
}

async function answerInTime(
  access: ServiceAccess,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<Attempt> {
  const { controller, release } = linkedController(signal)
  let late = false
  const effect = request.effect?.begin() ?? { isPossible: false }
  const cancel = deadline(access.timeoutMs, () => {
    late = true
    controller.abort()
  })
  try {
    const exchanged = exchange(access, request, effect, controller.signal)
    const response = await untilAborted(exchanged, controller.signal)
    if (isRefusal(response.status)) effect.isPossible = false
    return { response }
  } catch (error) {
    signal.throwIfAborted()
    const isFinal = !late && (error instanceof BodyTooLarge || error instanceof ProxyVariableError)
    return { failure: failureOf(error, late, access, request), isFinal }
  } finally {
    cancel()
    release()
  }
}

async function exchange(
  { baseUrl, send }: ServiceAccess,
  { method, path, headers, body }: ServiceRequest,
  effect: AttemptEffect,
  signal: AbortSignal,
): Promise<ServiceResponse> {
  const init = { method, headers: { ...headers }, body, redirect: 'manual', signal } as const
  const response = await send(baseUrl + path, init, effect)
  const text = await readBody(response, signal)
  const { status } = response
  return { status, ok: status >= 200 && status < 300, headers: headersOf(response), body: parseBody(text) }
}

function headersOf({ headers }: FetchResponse): Record<string, string> {
  const values = new Map<string, string>()
  headers.forEach((value, name) => {
    const before = values.get(name)
    values.set(name, before === undefined ? value : `${before}, ${value}`)
  })
  return Object.fromEntries(values)
}

function failureOf(
  error: unknown,
  late: boolean,
  access: ServiceAccess,
  request: ServiceRequest,
): ClientError {
  const what = `${request.method} ${access.baseUrl}${request.path}`
  if (late) {
    const message = `${what}: no complete answer within timeoutMs (${access.timeoutMs}). Whether the service has acted on it is not known.`
    return new ClientError('ERR_SERVICE_TIMEOUT', message)
  }
  if (error instanceof BodyTooLarge) {
    const message = `${what}: the answer is larger than ${MAX_BODY_BYTES} bytes. Is it the service that answers at baseUrl?`
    return new ClientError('ERR_SERVICE_RESPONSE', message)
  }
  const cause = safeCause(error, [...access.hidden(), ...request.hidden])
  if (error instanceof ProxyVariableError) {
    const message = `${what}: nothing was sent: ${error.message}.`
    return new ClientError('ERR_SERVICE_UNREACHABLE', message, { cause })
  }
  const message = `${what}: no complete answer (${briefly(cause)}). Check baseUrl, and the way there: names, certificates, proxies, firewalls.`
  return new ClientError('ERR_SERVICE_UNREACHABLE', message, { cause })
}
