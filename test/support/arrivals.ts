import { createHash, randomUUID } from 'node:crypto'
import type { Arrival } from '../../src/inbox/inbox.js'
import { subscription } from './running-receiver.js'

export interface ArrivalOptions extends Partial<Pick<Arrival, 'suspicion' | 'orderKey' | 'signature'>> {
  readonly type?: string
  readonly idempotencyKey?: string
  readonly body?: string | Buffer
  readonly signedAt?: Date
  readonly receivedAt?: Date
}

const AT = new Date(Date.UTC(2026, 10, 3, 9, 14, 27))

/** What a receiver would store for a callback that is like no other. */
export function arrival({
  type = subscription.eventTypeName,
  idempotencyKey = randomUUID(),
  body = JSON.stringify({ Id: randomUUID() }),
  signature = createHash('sha256').update(randomUUID()).digest('base64'),
  suspicion,
  orderKey,
  signedAt = AT,
  receivedAt = signedAt,
}: ArrivalOptions = {}): Arrival {
  const { eventTypeName, callbackUrl } = subscription
  const rawBody = Buffer.from(body as string)
  return {
    callback: {
      type,
      idempotencyKey,
      signedAt,
      receivedAt,
      rawBody,
      subscription: { id: `${eventTypeName} ${callbackUrl}`, eventTypeName, callbackUrl },
    },
    key: `${idempotencyKey}@${eventTypeName} ${callbackUrl}`,
    bodyHash: createHash('sha256').update(rawBody).digest('base64'),
    signature,
    suspicion,
    orderKey,
  }
}
