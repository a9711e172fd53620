import { createHash, randomUUID } from 'node:crypto'
import type { Arrival } from '../../src/inbox/engine.js'
import { subscription } from './subscription.js'
import type { WholeInbox } from './whole-inbox.js'

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
      secretFingerprint: '0123456789ab',
    },
    key: `${idempotencyKey}@${eventTypeName} ${callbackUrl}`,
    bodyHash: createHash('sha256').update(rawBody).digest('base64'),
    signature,
    suspicion,
    orderKey,
  }
}

/** Adds three arrivals in one tick, the second of which cannot be stored. Returns whether each was. */
export async function addWithImpossible(inbox: Pick<WholeInbox, 'add'>): Promise<string[]> {
  const impossible = arrival()
  const adding = [
    arrival(),
    { ...impossible, callback: { ...impossible.callback, receivedAt: new Date(NaN) } },
    arrival(),
  ].map((each) => inbox.add(each))
  return (await Promise.allSettled(adding)).map(({ status }) => status)
}
