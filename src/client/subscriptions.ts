import { randomUUID } from 'node:crypto'
import { eventTypeNameProblem } from '../base/event-type-name.js'
import type { Logger } from '../logging/logger.js'
import { checkKnownOptions, invalidOption, refuseOption } from '../base/option-checks.js'
import { callbackUrlProblem } from '../signature/index.js'
import { looksLikeSecretText, secretProblem } from '../signature/secret.js'
import type { SendAuthorized } from './authorized-request.js'
import { signalOption, type CallOptions } from './call-options.js'
import { ClientError } from './client-error.js'
import { Effect } from './effect.js'
import type { ServiceRequest, ServiceResponse } from './request.js'
import { isUuid } from '../base/uuid.js'

/**
 * A subscription to create. The service does not document which fields are optional; `description` reads as if it
 * were.
 */
export interface NewSubscription {
  /** Such as `transfers.book-completed`. */
  readonly eventTypeName: string
  /** Absolute http or https URL, with the same spelling as in the receiver. */
  readonly callbackUrl: string
  /** The secret text itself, the same as in the receiver. It is Base64-encoded here. */
  readonly secret: string
  readonly description?: string | undefined
}

/** Options of `subscriptions.create`. */
export interface CreateSubscriptionOptions extends CallOptions {
  /**
   * A UUID, the same for every attempt. Pass the key of an earlier call to repeat that call.
   * @default a new one, which the result and a ClientError have; the reason of a signal does not
   */
  readonly idempotencyKey?: string | undefined
}

/** The service's answer to the last attempt, and what is known about all attempts. */
export interface SubscriptionResponse extends ServiceResponse {
  readonly idempotencyKey: string
  /**
   * Whether the subscription may exist. False only if no attempt of this call can have created it: each was
   * answered 4xx other than 408 and 409, or never left this machine. Earlier calls with the same key are not
   * counted.
   */
  readonly mayBeCreated: boolean
}

export interface ClientSubscriptions {
  /**
   * Creates a subscription. Resolves with any status, because the service documents none. It retries an attempt
   * without an answer, or with 5xx or 429, with the same idempotency key. The refusal of a retry does not say
   * whether an earlier attempt was accepted; `mayBeCreated` of the result and of a ClientError does.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN: nothing was sent
   * @throws ClientError every code
   */
  create(subscription: NewSubscription, options?: CreateSubscriptionOptions): Promise<SubscriptionResponse>
}

const OWNER = 'subscriptions.create'

export function createSubscriptions(send: SendAuthorized, logger: Logger): ClientSubscriptions {
  return {
    async create(subscription, options) {
      const signal = signalOption(OWNER, options, ['signal', 'idempotencyKey'])
      const idempotencyKey = idempotencyKeyOption(options?.idempotencyKey)
      const effect = new Effect()
      const request = { ...subscriptionRequest(subscription, idempotencyKey, logger), effect }
      try {
        const response = await send(request, signal)
        return { ...response, idempotencyKey, mayBeCreated: effect.isPossible }
      } catch (error) {
        throw aboutCreation(error, { idempotencyKey, mayBeCreated: effect.isPossible })
      }
    },
  }
}

/** The request of SERVICE 4.2 without the token. */
function subscriptionRequest(
  subscription: NewSubscription,
  idempotencyKey: string,
  logger: Logger,
): ServiceRequest {
  checkKnownOptions(OWNER, subscription, ['eventTypeName', 'callbackUrl', 'secret', 'description'])
  const { eventTypeName, callbackUrl, secret, description } = subscription
  if (description !== undefined && typeof description !== 'string')
    throw invalidOption(OWNER, 'description', description, 'use a text, or leave it out')
  refuseOption(OWNER, 'eventTypeName', eventTypeNameProblem(eventTypeName))
  refuseOption(OWNER, 'callbackUrl', callbackUrlProblem(callbackUrl))
  refuseOption(OWNER, 'secret', secretProblem(secret))
  warnOfPitfalls(eventTypeName, secret, logger)

  const secretText = Buffer.from(secret, 'utf8').toString('base64')
  return {
    method: 'POST',
    path: '/webhooks/v1/',
    headers: { 'Content-Type': 'application/json', 'X-Idempotency-Key': idempotencyKey },
    body: JSON.stringify({ eventTypeName, callbackUrl, secretText, description }),
    hidden: [secret, secretText],
  }
}

/** The given key, or a new one. */
function idempotencyKeyOption(idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return randomUUID()
  if (isUuid(idempotencyKey)) return idempotencyKey
  throw invalidOption(OWNER, 'idempotencyKey', idempotencyKey, 'use a UUID, or leave it out')
}

/** A new error, because other callers may have got the same one: all that waited for the same token. */
function aboutCreation(error: unknown, about: { idempotencyKey: string; mayBeCreated: boolean }): unknown {
  if (!(error instanceof ClientError)) return error
  const { code, message, status, retryAfterMs, cause } = error
  return new ClientError(code, message, { status, retryAfterMs, cause: cause as Error | undefined, ...about })
}

function warnOfPitfalls(eventTypeName: string, secret: string, logger: Logger): void {
  if (looksLikeSecretText(secret)) {
    const message =
      'a secret looks like the Base64 that is sent as secretText. It is encoded here, so give the text itself: if this is ' +
      'the Base64 already, the service will sign with another key than the one you mean'
    logger.warn({ code: 'WARN_SECRET_LOOKS_LIKE_BASE64', eventTypeName }, message)
  } else if (secret.trim() !== secret) {
    const message =
      'a secret begins or ends with white space, which is part of the key: was it read from a file?'
    logger.warn({ code: 'WARN_SECRET_ENCLOSED', eventTypeName }, message)
  }
}
