import type { Attributes } from '@opentelemetry/api'
import { ownSubscriptionId, type VerifiedCallback } from '../../callback/callback.js'
import { SYSTEM } from './conventions.js'

/** The attributes of a span, as samplers see them. Without a verified callback nothing of the request is among them. */
export function messageAttributes(
  operation: string,
  type: string,
  callback: VerifiedCallback | undefined,
): Attributes {
  const attributes: Attributes = {
    'messaging.system': SYSTEM,
    'messaging.operation.name': operation,
    'messaging.operation.type': type,
  }
  if (!callback) return attributes
  const { idempotencyKey, subscription, rawBody } = callback
  attributes['messaging.destination.name'] = subscription.eventTypeName
  attributes['messaging.message.id'] = idempotencyKey
  attributes['messaging.message.body.size'] = rawBody.length
  const id = ownSubscriptionId(subscription)
  if (id !== undefined) attributes['messaging.destination.subscription.name'] = id
  return attributes
}
