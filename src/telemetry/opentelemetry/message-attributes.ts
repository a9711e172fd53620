import type { Attributes } from '@opentelemetry/api'
import { ownSubscriptionId, type VerifiedCallback } from '../../callback/callback.js'
import { SYSTEM } from './conventions.js'

/**
 * The attributes that a span has from its start, so that samplers see them. An unverified request adds no values of its own. Each kind
 * of span has one literal: adding the properties one by one takes longer.
 */
export function messageAttributes(
  operation: string,
  type: string,
  callback: VerifiedCallback | undefined,
): Attributes {
  if (!callback)
    return {
      'messaging.system': SYSTEM,
      'messaging.operation.name': operation,
      'messaging.operation.type': type,
    }
  const attributes: Attributes = {
    'messaging.system': SYSTEM,
    'messaging.operation.name': operation,
    'messaging.operation.type': type,
    'messaging.destination.name': callback.subscription.eventTypeName,
    'messaging.message.id': callback.idempotencyKey,
    'messaging.message.body.size': callback.rawBody.length,
  }
  const id = ownSubscriptionId(callback.subscription)
  if (id !== undefined) attributes['messaging.destination.subscription.name'] = id
  return attributes
}
