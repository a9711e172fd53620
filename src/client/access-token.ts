import { linkedController } from './abort.js'
import { parseClientOptions, type ClientOptions } from './client-options.js'
import type { ClientCredentials } from './credentials.js'
import { ClientError } from './client-error.js'
import { attemptRequest, type ServiceAccess, type ServiceRequest, type ServiceResponse } from './request.js'
import { askedDelayMs, withRetries, type RetryPolicy } from './retry.js'
import { tokenRefusal } from './token-refusal.js'

/** SERVICE 2.1. */
export interface AccessToken {
  readonly accessToken: string
  readonly tokenType: string
  /** Remaining lifetime in seconds, as the service put it; undefined when it did not, or not as a number. */
  readonly expiresIn: number | undefined
}

interface TokenService extends ServiceAccess {
  readonly credentials: ClientCredentials
  readonly retries: RetryPolicy
}

const PATH = '/security/v1/oauth2/token'

/**
 * One token, fetched now, and what the service says of it: for a look at it. `createClient` keeps them.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN; ClientError; the signal's reason
 */
export async function requestAccessToken(
  options: ClientOptions,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<AccessToken> {
  const { access, connections, credentials, retries } = parseClientOptions(options)
  const { controller, release } = linkedController(signal)
  try {
    const hidden = () => [credentials.clientSecret]
    return await fetchAccessToken({ ...access, hidden, credentials, retries }, controller.signal)
  } finally {
    release()
    await connections.close()
  }
}

/**
 * Asks for a token (SERVICE 4.1). To ask twice does no harm, so failed attempts are repeated as others are.
 * @throws ClientError; the signal's reason
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
  // A lifetime begins when the service answers, which is no sooner than this.
  return { ...readToken(what, response), requestedAtMs }
}

// Not URLSearchParams, which would write ~ as %7E: each character that a secret may have stands for itself in a form, and
// so a service that does not decode it gets it right too.
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
  if (typeof body !== 'object' || body === null) throw unusable('its body is no JSON object')
  const { access_token, token_type, expires_in } = body as Readonly<Record<string, unknown>>
  // RFC 6749, section 7.1: a type that is not understood must not be used. 5.1: its case does not matter.
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer')
    throw unusable('token_type is not Bearer')
  if (typeof access_token !== 'string') throw unusable('access_token is no text')
  // It goes into a header, where a line end would begin another.
  if (!/^[\x21-\x7e]+$/.test(access_token))
    throw unusable('access_token is empty, or has characters that have no place in a header')
  return { accessToken: access_token, tokenType: token_type, expiresIn: seconds(expires_in) }
}

/** Some services put the number into a text. */
function seconds(expiresIn: unknown): number | undefined {
  if (typeof expiresIn === 'number') return expiresIn
  return typeof expiresIn === 'string' && /^\d+$/.test(expiresIn) ? Number(expiresIn) : undefined
}
