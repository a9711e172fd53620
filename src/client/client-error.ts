import { CountersignError, recognise } from '../base/errors.js'

/** The codes of calls that failed. */
export type ClientErrorCode =
  /** The token request was answered 400, 401 or 403. */
  | 'ERR_TOKEN_REFUSED'
  /** No answer: no connection, or the connection broke. */
  | 'ERR_SERVICE_UNREACHABLE'
  /** No complete answer within `timeoutMs`. */
  | 'ERR_SERVICE_TIMEOUT'
  /** An unusable answer: to the token request any answer without a token, to other requests an answer above 1 MiB. */
  | 'ERR_SERVICE_RESPONSE'
  /** The client has been closed. */
  | 'ERR_CLOSED'

interface ClientErrorOptions {
  readonly cause?: Error | undefined
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly idempotencyKey?: string | undefined
  readonly mayBeCreated?: boolean | undefined
}

/** A call that failed. Neither the error nor its causes contain a secret, a token or a part of a response body. */
export class ClientError extends CountersignError<ClientErrorCode> {
  static {
    recognise(this, 'ClientError')
  }

  /** The status of the service's answer, if there was one. */
  declare readonly status?: number
  /** The Retry-After of the answer to the token request, in milliseconds, if it had one. */
  declare readonly retryAfterMs?: number
  /** The idempotency key that the subscription was sent with, to repeat the call with the same key. */
  declare readonly idempotencyKey?: string
  /** Only of `subscriptions.create`: false if no attempt can have created the subscription. */
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
