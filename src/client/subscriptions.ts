import { randomUUID } from 'node:crypto'
import { CountersignError } from '../errors.js'
import type { Logger } from '../logger.js'
import { checkKnownOptions, invalidOption } from '../option-checks.js'
import { callbackUrlProblem } from '../signature/index.js'
import { looksLikeSecretText, secretProblem } from '../signature/secret.js'
import type { ServiceRequest } from './request.js'
import { isUuid } from './uuid.js'

/** SERVICE 2.3. Which fields are optional is not shown there; `description` is the one that reads like it. */
export interface NewSubscription {
  /** Such as `transfers.book-completed`. */
  readonly eventTypeName: string
  /** Absolute http or https URL, spelled as the receiver's. */
  readonly callbackUrl: string
  /** The secret text itself, as the receiver has it: it is Base64-encoded here (SERVICE 5.1). */
  readonly secret: string
  readonly description?: string | undefined
}

export const OWNER = 'subscriptions.create'

/** SERVICE 4.2, but for the token. @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function subscriptionRequest(
  subscription: NewSubscription,
  idempotencyKey: string,
  logger: Logger,
): ServiceRequest {
  checkKnownOptions(OWNER, subscription, ['eventTypeName', 'callbackUrl', 'secret', 'description'])
  const { eventTypeName, callbackUrl, secret, description } = subscription
  if (typeof eventTypeName !== 'string' || eventTypeName === '') {
    throw invalidOption(
      OWNER,
      'eventTypeName',
      eventTypeName,
      'use a name such as "transfers.book-completed"',
    )
  }
  if (description !== undefined && typeof description !== 'string')
    throw invalidOption(OWNER, 'description', description, 'use a text, or leave it out')
  const problem = callbackUrlProblem(callbackUrl) ?? secretProblem(secret)
  if (problem) throw new CountersignError('ERR_OPTION_INVALID', `${OWNER}: ${problem}`)
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

/** The one given, or a new one. @throws CountersignError ERR_OPTION_INVALID */
export function idempotencyKeyOption(idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return randomUUID()
  if (isUuid(idempotencyKey)) return idempotencyKey
  throw invalidOption(OWNER, 'idempotencyKey', idempotencyKey, 'use a UUID, or leave it out')
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
    logger.warn({ code: 'WARN_SECRET_HAS_WHITE_SPACE', eventTypeName }, message)
  }
}
