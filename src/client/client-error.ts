import { CountersignError } from '../base/errors.js'

export type ClientErrorCode =
  /** The token request was answered 400, 401 or 403. */
  | 'ERR_TOKEN_REFUSED'
  /** No answer: no connection, or one that broke. */
  | 'ERR_SERVICE_UNREACHABLE'
  /** No complete answer within `timeoutMs`. */
  | 'ERR_SERVICE_TIMEOUT'
  /** An answer that cannot be used: to the token request anything without a token, to any other one above 1 MiB. */
  | 'ERR_SERVICE_RESPONSE'
  /** The client has been closed. */
  | 'ERR_CLIENT_CLOSED'

interface ClientErrorOptions {
  readonly cause?: Error | undefined
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly idempotencyKey?: string | undefined
  readonly mayBeCreated?: boolean | undefined
}

/** A call came to nothing. Never holds a secret, a token or any part of an answer's body, and nor do its causes. */
export class ClientError extends CountersignError<ClientErrorCode> {
  /** The status of the service's answer, where there was one. */
  declare readonly status?: number
  /** How long the service asks to wait, by its Retry-After, where the token request was answered with one. */
  declare readonly retryAfterMs?: number
  /** The key that a subscription was sent with, in order to try again with the same. */
  declare readonly idempotencyKey?: string
  /** Of `subscriptions.create`: false where no attempt can have created the subscription. */
  declare readonly mayBeCreated?: boolean

  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}) {
    const { cause, status, retryAfterMs, idempotencyKey, mayBeCreated } = options
    super(code, message, cause && { cause })
    this.name = 'ClientError'
    if (status !== undefined) this.status = status
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
    if (idempotencyKey !== undefined) this.idempotencyKey = idempotencyKey
    if (mayBeCreated !== undefined) this.mayBeCreated = mayBeCreated
  }
}
