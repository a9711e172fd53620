import type { Attributes } from '@opentelemetry/api'
import { ownSubscriptionId, type VerifiedCallback } from '../../callback/callback.js'
import { SYSTEM } from './conventions.js'

/** The attributes that a span has from its start, so that samplers see them. An unverified request adds no values of its own. */
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
