import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { CallbackEvent, PublicSubscription } from '../callback/callback.js'
import { CountersignError } from '../base/errors.js'
import { parsePayload } from '../callback/payload.js'
import { DoNotRetryError } from '../handlers/do-not-retry.js'
import type { AnyEvent, EventMap } from '../handlers/handlers.js'
import { property, textProperty } from '../base/foreign-value.js'
import { isUuid } from '../base/uuid.js'

/** The version of the job data that this code writes. */
const VERSION = 1

/** An event without its type of payload: the hand-off takes any. */
export type AnyCallbackEvent = CallbackEvent<string, unknown>

/** The data of a job: an event in JSON. Read it with `forwardedEvent`. */
export interface ForwardedCallback {
  /** The version of this format. */
  readonly countersign: number
  readonly type: string
  readonly idempotencyKey: string
  /** In ISO 8601, as `receivedAt` is. */
  readonly signedAt: string
  readonly receivedAt: string
  /** The text of the body. Its UTF-8 bytes are those that were signed. */
  readonly body: string
  readonly subscription: PublicSubscription
  readonly secretFingerprint: string
  readonly byOperator: boolean
}

/** Identifies a callback within a queue. BullMQ admits no colon, and no id that is a number. */
export function forwardedId({ idempotencyKey, subscription }: AnyCallbackEvent): string {
  // The service does not say whether a key is unique across subscriptions.
  const hash = createHash('sha256').update(subscription.id).digest('hex')
  return `${idempotencyKey}-${hash.slice(0, 16)}`
}

/** @throws DoNotRetryError if the bytes are not those of a text, which no receiver gives to a handler */
export function toForwarded(event: AnyCallbackEvent): ForwardedCallback {
  const { type, idempotencyKey, signedAt, receivedAt, rawBody, subscription } = event
  if (!isUtf8(rawBody)) throw new DoNotRetryError('forwardTo: the body is not UTF-8')
  const { id, eventTypeName, callbackUrl, description } = subscription
  return {
    countersign: VERSION,
    type,
    idempotencyKey,
    signedAt: signedAt.toISOString(),
    receivedAt: receivedAt.toISOString(),
    body: rawBody.toString('utf8'),
    // Field by field: further fields of the object must not get into the queue.
    subscription: { id, eventTypeName, callbackUrl, description },
    secretFingerprint: event.secretFingerprint,
    byOperator: event.byOperator,
  }
}

/**
 * The event of a job that `forwardTo` added, for a BullMQ worker. `rawBody` has the bytes that were signed, and `payload` is
 * parsed from them.
 * @throws CountersignError ERR_JOB_INVALID if the data is not that of `forwardTo`, with the name `UnrecoverableError`: BullMQ
 *   does not try the job again. If the data was written by a newer version of Countersign, BullMQ does try it again.
 */
export function forwardedEvent<Events extends object = EventMap>(job: {
  readonly data: unknown
}): AnyEvent<Events> {
  const data = property(job, 'data')
  const version = property(data, 'countersign')
  if (typeof version === 'number' && version > VERSION) throw newerVersion(version)
  if (version !== VERSION) throw missingField('countersign')
  return eventOf(data) as unknown as AnyEvent<Events>
}

function eventOf(data: unknown): CallbackEvent {
  const rawBody = Buffer.from(text(data, 'body'), 'utf8')
  const payload = parsePayload(rawBody)
  if (!payload) throw missingField('body')
  const idempotencyKey = text(data, 'idempotencyKey')
  if (!isUuid(idempotencyKey)) throw missingField('idempotencyKey')
  return {
    type: text(data, 'type'),
    payload,
    idempotencyKey,
    signedAt: date(data, 'signedAt'),
    receivedAt: date(data, 'receivedAt'),
    rawBody,
    subscription: subscriptionOf(property(data, 'subscription')),
    secretFingerprint: text(data, 'secretFingerprint'),
    byOperator: property(data, 'byOperator') === true,
  }
}

function subscriptionOf(data: unknown): PublicSubscription {
  return {
    id: text(data, 'id', 'subscription.id'),
    eventTypeName: text(data, 'eventTypeName', 'subscription.eventTypeName'),
    callbackUrl: text(data, 'callbackUrl', 'subscription.callbackUrl'),
    description: textProperty(data, 'description'),
  }
}

function text(data: unknown, name: string, field = name): string {
  const value = textProperty(data, name)
  if (value === undefined || value === '') throw missingField(field)
  return value
}

function date(data: unknown, name: string): Date {
  const value = new Date(text(data, name))
  if (Number.isNaN(value.getTime())) throw missingField(name)
  return value
}

/** The data of a job cannot be read as a forwarded callback. */
class ForwardedJobError extends CountersignError<'ERR_JOB_INVALID'> {}

/** Names the field and never the value, as the reason of a failed job is kept and shown. */
function missingField(field: string): ForwardedJobError {
  const error = new ForwardedJobError(
    'ERR_JOB_INVALID',
    `forwardedEvent: the data of the job has no valid ${JSON.stringify(field)}, so forwardTo did not add it. Use a queue ` +
      'for forwarded callbacks alone, or choose the jobs by their names.',
  )
  // By this name BullMQ recognises errors after which a job is not tried again.
  error.name = 'UnrecoverableError'
  return error
}

/** Not final: during an update the job may be tried again by a worker that has been updated. */
function newerVersion(version: number): ForwardedJobError {
  return new ForwardedJobError(
    'ERR_JOB_INVALID',
    `forwardedEvent: the data of the job has version ${version}, and this process knows ${VERSION}: update countersign where the worker runs`,
  )
}
