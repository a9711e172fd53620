import { attemptRequest, type ServiceAccess, type ServiceRequest, type ServiceResponse } from './request.js'
import { withRetries, type RetryPolicy } from './retry.js'
import type { TokenCache } from './token-cache.js'

interface AuthorizedAccess {
  readonly access: ServiceAccess
  readonly retries: RetryPolicy
  readonly tokens: TokenCache
}

/** Sends a request with a token, and a signal that ends it. */
export type SendAuthorized = (
  request: ServiceRequest,
  signal: AbortSignal | undefined,
) => Promise<ServiceResponse>

/**
 * Sends a request with a token (SERVICE 5, point 2). If the service refuses the token, it sends the request once
 * more with another one; more often would be an endless loop with a service that refuses all tokens. Failed
 * attempts are retried.
 * @throws ClientError; the reason of the signal
 */
export function sendAuthorized(
  { access, retries, tokens }: AuthorizedAccess,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<ServiceResponse> {
  let renewed = false
  const sendWith = (token: string, attempt: number) =>
    attemptRequest(access, withToken(request, token), attempt, signal)
  return withRetries(retries, signal, async (attempt) => {
    const token = await tokens.get(signal)
    const first = await sendWith(token, attempt)
    if (renewed || !('response' in first) || first.response.status !== 401) return first
    renewed = true
    return sendWith(await tokens.get(signal, token), attempt)
  })
}

function withToken(request: ServiceRequest, token: string): ServiceRequest {
  return { ...request, headers: { ...request.headers, Authorization: `Bearer ${token}` } }
}
