import type { CallbackRequest } from './callback.js'
import type { OutcomeCode } from './outcomes.js'
import { readCredentials, type Credentials } from '../signature/credentials.js'

/**
 * Checks the headers of a request, before its body is read and before anything is hashed, so that most
 * unauthenticated requests cost little. Returns the credentials of the callback, or the code of the refusal.
 */
export function admit(
  { method, headers, mayLackHeaders }: CallbackRequest,
  maxBodyBytes: number,
): Credentials | OutcomeCode {
  if (mayLackHeaders) return 'ERR_HEADERS_TOO_MANY'
  if (method !== 'POST') return 'ERR_METHOD_NOT_ALLOWED'
  const { contentEncoding, contentLength } = headers
  if (contentEncoding !== undefined && String(contentEncoding).toLowerCase() !== 'identity')
    return 'ERR_BODY_ENCODED'
  if (contentLength !== undefined && Number(contentLength) > maxBodyBytes) return 'ERR_BODY_TOO_LARGE'
  return readCredentials(headers.authorization, headers.timestamp)
}
