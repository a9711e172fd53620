import { parseClientOptions, type ClientOptions } from './client-options.js'
import type { ClientCredentials } from './credentials.js'
import { ClientError } from './client-error.js'
import { attemptRequest, type ServiceAccess, type ServiceRequest, type ServiceResponse } from './request.js'
import { askedDelayMs, withRetries, type RetryPolicy } from './retry.js'
import { tokenRefusal } from './token-refusal.js'

/** The token response (SERVICE 2.1). */
export interface AccessToken {
  readonly accessToken: string
  readonly tokenType: string
  /** The remaining lifetime in seconds, as the service stated it; undefined if it stated none, or not as a number. */
  readonly expiresIn: number | undefined
}

interface TokenService extends ServiceAccess {
  readonly credentials: ClientCredentials
  readonly retries: RetryPolicy
}

const PATH = '/security/v1/oauth2/token'

/**
 * Requests one token now, and returns it with what the service states about it. It is not cached, unlike the tokens
 * of `createClient`.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; ClientError
 */
export async function requestAccessToken(options: ClientOptions): Promise<AccessToken> {
  const { access, connections, credentials, retries } = parseClientOptions(options)
  const { signal } = new AbortController()
  try {
    const hidden = () => [credentials.clientSecret]
    return await fetchAccessToken({ ...access, hidden, credentials, retries }, signal)
  } finally {
    await connections.close()
  }
}

/**
 * Requests a token (SERVICE 4.1). A repeated request has no side effect, so failed attempts are retried.
 * @throws ClientError; the reason of the signal
 */
export async function fetchAccessToken(service: TokenService, signal: AbortSignal) {
  const { baseUrl, credentials, retries } = service
  signal.throwIfAborted()
  let requestedAtMs = 0
  const response = await withRetries(retries, signal, (attempt) => {
    requestedAtMs = retries.clock()
    return attemptRequest(service, tokenRequest(credentials), attempt, signal)
  })
  const what = `The token request (POST ${baseUrl}${PATH})`
  if (!response.ok) {
    throw tokenRefusal(what, response.status, credentials, askedDelayMs(response.headers, retries.clock))
  }
  // The lifetime begins when the service answers, which is not before this time.
  return { ...readToken(what, response), requestedAtMs }
}

// Not URLSearchParams, which encodes ~ as %7E. Every character that a secret may have is allowed unencoded in a
// form, so a service that does not decode the form also gets the right secret.
function tokenRequest({ clientId, clientSecret }: ClientCredentials): ServiceRequest {
  return {
    method: 'POST',
    path: PATH,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&client_Id=${clientId}&client_Secret=${clientSecret}`,
    hidden: [],
  }
}

function readToken(what: string, { status, body }: ServiceResponse): AccessToken {
  const unusable = (found: string) => {
    const message = `${what} was answered ${status}, but ${found}. Is it the service that answers at baseUrl?`
    return new ClientError('ERR_SERVICE_RESPONSE', message, { status })
  }
  if (typeof body !== 'object' || body === null) throw unusable('its body is not a JSON object')
  const { access_token, token_type, expires_in } = body as Readonly<Record<string, unknown>>
  // RFC 6749, section 7.1: a client must not use a token type that it does not understand. Section 5.1: the type is
  // case-insensitive.
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer')
    throw unusable('token_type is not Bearer')
  if (typeof access_token !== 'string') throw unusable('access_token is not a text')
  // It becomes part of a header, where a line end would start another header.
  if (!/^[\x21-\x7e]+$/.test(access_token))
    throw unusable('access_token is empty, or has characters that have no place in a header')
  return { accessToken: access_token, tokenType: token_type, expiresIn: seconds(expires_in) }
}

/** Some services send the number as a string. */
function seconds(expiresIn: unknown): number | undefined {
  if (typeof expiresIn === 'number') return expiresIn
  return typeof expiresIn === 'string' && /^\d+$/.test(expiresIn) ? Number(expiresIn) : undefined
}
