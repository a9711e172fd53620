import { deadline } from '../in-time.js'
import { errorFields, type Logger } from '../logger.js'
import { linkedController, untilAborted } from './abort.js'
import { ClientError } from './client-error.js'
import type { Fetch, FetchResponse } from './connections.js'
import { BodyTooLarge, MAX_BODY_BYTES, parseBody, readBody } from './read-body.js'
import { briefly, safeCause } from './safe-cause.js'

/** What the service answered. Nothing is assumed about it, as SERVICE shows neither statuses nor bodies. */
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
  /** Below the base address, escaped. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Texts of this request that must not stand in any error. */
  readonly hidden: readonly string[]
}

/** An answer of any status; or none, in which case the request may be tried again. */
export type Attempt = { readonly response: ServiceResponse } | { readonly failure: ClientError }

export interface ServiceAccess {
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly timeoutMs: number
  readonly logger: Logger
}

/**
 * One HTTP call. `number` counts the attempts, for the log.
 * @throws ClientError ERR_SERVICE_RESPONSE; the signal's reason
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
  const { failure } = attempt
  access.logger.info({ ...fields, code: failure.code, err: errorFields(failure) }, 'no usable answer')
  if (failure.code === 'ERR_SERVICE_RESPONSE') throw failure
  return attempt
}

async function answerInTime(
  access: ServiceAccess,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<Attempt> {
  const { controller, release } = linkedController(signal)
  let late = false
  const cancel = deadline(access.timeoutMs, () => {
    late = true
    controller.abort()
  })
  try {
    const response = await untilAborted(exchange(access, request, controller.signal), controller.signal)
    return { response }
  } catch (error) {
    signal.throwIfAborted()
    return { failure: failureOf(error, late, access, request) }
  } finally {
    cancel()
    release()
  }
}

async function exchange(
  { baseUrl, fetch }: ServiceAccess,
  { method, path, headers, body }: ServiceRequest,
  signal: AbortSignal,
): Promise<ServiceResponse> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { ...headers },
    body,
    redirect: 'manual',
    signal,
  })
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
  const cause = safeCause(error, request.hidden)
  const message = `${what}: no complete answer (${briefly(cause)}). Check baseUrl, and the way there: names, certificates, proxies, firewalls.`
  return new ClientError('ERR_SERVICE_UNREACHABLE', message, { cause })
}
