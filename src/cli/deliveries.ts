import { randomBytes, randomUUID } from 'node:crypto'
import { formatHttpDate } from '../signature/index.js'
import { signedCallback, type SignedCallback } from '../testing/signed-callback.js'
import { UsageError } from './io.js'

/** What can be wrong with a callback on purpose. */
export interface Faults {
  readonly forged?: true
  /** Milliseconds ago. */
  readonly stale?: number | undefined
  /** Milliseconds from now. */
  readonly future?: number | undefined
  readonly tampered?: true
  /** False to leave the header out. */
  readonly authorization: boolean
  readonly rewrittenType?: string
  readonly duplicate?: true
  readonly replayed?: true
  readonly reusedKey?: true
}

export interface CallbackPlan extends Faults {
  readonly callbackUrl: string
  readonly eventType: string
  readonly key?: string
}

/** One request. A callback is delivered by several when a fault is one of repetition. */
export interface Delivery {
  readonly name: 'first' | 'duplicate' | 'replayed' | 'reused-key'
  readonly request: Pick<SignedCallback, 'headers'> & { readonly body: Buffer }
}

/** The requests that deliver one callback, in their order. @throws UsageError */
export function deliveries(
  plan: CallbackPlan,
  secret: string | undefined,
  body: Buffer | undefined,
): Delivery[] {
  const idempotencyKey = plan.key ?? randomUUID()
  const key = plan.forged || secret === undefined ? randomBytes(32).toString('hex') : secret
  const signed = (content: Buffer | undefined): Delivery['request'] => {
    const callback = signedCallback({
      subscription: { eventTypeName: plan.eventType, callbackUrl: plan.callbackUrl, secret: key },
      body: content,
      idempotencyKey,
      eventType: plan.rewrittenType,
      timestamp: signingTime(plan),
      headers: plan.authorization ? {} : { Authorization: null },
    })
    return plan.tampered ? { ...callback, body: tampered(callback.body) } : callback
  }

  const first = signed(body)
  const list: Delivery[] = [{ name: 'first', request: first }]
  if (plan.duplicate) list.push({ name: 'duplicate', request: first })
  if (plan.replayed) {
    const headers = { ...first.headers, 'X-Idempotency-Key': randomUUID() }
    list.push({ name: 'replayed', request: { headers, body: first.body } })
  }
  if (plan.reusedKey) list.push({ name: 'reused-key', request: signed(undefined) })
  return list
}

/** How many requests deliver one callback. */
export function deliveryCount({
  duplicate,
  replayed,
  reusedKey,
}: Pick<Faults, 'duplicate' | 'replayed' | 'reusedKey'>): number {
  return 1 + [duplicate, replayed, reusedKey].filter(Boolean).length
}

function signingTime({ stale, future }: Faults): string {
  return formatHttpDate(new Date(Date.now() - (stale ?? 0) + (future ?? 0)))
}

/** One bit in the middle, so that the length stays the same. */
function tampered(body: Buffer): Buffer {
  if (body.length === 0) throw new UsageError('--tampered: an empty body has no byte to change')
  const copy = Buffer.from(body)
  copy[copy.length >> 1]! ^= 1
  return copy
}
