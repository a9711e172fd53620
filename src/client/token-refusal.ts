import type { ClientCredentials } from './credentials.js'
import { ClientError } from './client-error.js'

/**
 * The error for a token request that was answered without a token. It says what was checked here and what only the
 * service can know (the checklist of SERVICE 5, point 4). It contains nothing from the body of the answer, which
 * may repeat what was sent.
 */
export function tokenRefusal(
  what: string,
  status: number,
  { clientSecret }: ClientCredentials,
  retryAfterMs: number | undefined,
): ClientError {
  const begins = `${what} was answered ${status}`
  const unusable = (rest: string) =>
    new ClientError('ERR_SERVICE_RESPONSE', `${begins}, ${rest}`, { status, retryAfterMs })
  if (status >= 500 || status === 429) {
    const asked =
      retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1000)} s, as it asks for`
    return unusable(`and not with a token. Try again ${asked}.`)
  }
  if (status >= 300 && status < 400) {
    return unusable(
      'a redirect, which is not followed, as the client secret would go with it. Set baseUrl to where the service itself is.',
    )
  }
  if (![400, 401, 403].includes(status))
    return unusable('and not with a token. Is baseUrl right, its path included?')

  const checklist =
    `(1) The client secret is the correct one: its length, ${clientSecret.length}, and its characters are right, but ` +
    'whether it belongs to this client_Id and is the latest one, only the service can know. (2) client_Id is a UUID: it ' +
    'is one, but whether it is a client, only the service can know. (3) grant_type equals client_credentials: it was sent ' +
    'so. (4) Content-Type is application/x-www-form-urlencoded: it was sent so.'
  const cure = 'A secret is visible only once: if it is lost, delete its entry and create a new one.'
  return new ClientError('ERR_TOKEN_REFUSED', `${begins}. The service's checklist: ${checklist} ${cure}`, {
    status,
    retryAfterMs,
  })
}
