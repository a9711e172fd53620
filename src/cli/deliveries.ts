import { randomBytes, randomUUID } from 'node:crypto'
import { formatHttpDate } from '../signature/timestamp.js'
import type { FaultKind } from '../simulator/fault.js'
import { withFlippedBit } from '../simulator/planned-request.js'
import { signedCallback, type SignedCallback } from '../testing/signed-callback.js'
import { UsageError } from './io.js'

/** The faults of the simulator, with the same names. Several can be combined. */
export interface Faults {
  readonly wrongSecret?: true
  /** Milliseconds ago. */
  readonly late?: number | undefined
  /** Milliseconds from now. */
  readonly early?: number | undefined
  readonly tampered?: true
  readonly unsigned?: true
  /** The X-Event-Type to send. */
  readonly rewrittenType?: string | undefined
  readonly repeat?: true
  readonly rewrittenKey?: true
  readonly otherBody?: true
}

interface CallbackPlan extends Faults {
  readonly callbackUrl: string
  readonly eventType: string
  readonly key?: string
  /** @default now, with `late` and `early` */
  readonly timestamp?: string
}

/** One request. Faults that repeat deliver a callback by several requests. */
export interface DeliveryRequest {
  readonly name: 'first' | Extract<FaultKind, 'repeat' | 'rewritten-key' | 'other-body'>
  readonly request: Pick<SignedCallback, 'headers'> & { readonly body: Buffer }
}

/** The requests that deliver one callback, in order. @throws UsageError */
export function deliveries(
  plan: CallbackPlan,
  secret: string | undefined,
  body: Buffer | undefined,
): DeliveryRequest[] {
  const idempotencyKey = plan.key ?? randomUUID()
  const key = plan.wrongSecret || secret === undefined ? randomBytes(32).toString('hex') : secret
  const signed = (content: Buffer | undefined): DeliveryRequest['request'] => {
    const callback = signedCallback({
      subscription: { eventTypeName: plan.eventType, callbackUrl: plan.callbackUrl, secret: key },
      body: content,
      idempotencyKey,
      eventType: plan.rewrittenType,
      timestamp: plan.timestamp ?? signingTime(plan),
      headers: plan.unsigned ? { Authorization: null } : {},
    })
    return plan.tampered ? { ...callback, body: tampered(callback.body) } : callback
  }

  const first = signed(body)
  const list: DeliveryRequest[] = [{ name: 'first', request: first }]
  if (plan.repeat) list.push({ name: 'repeat', request: first })
  if (plan.rewrittenKey) {
    const headers = { ...first.headers, 'X-Idempotency-Key': randomUUID() }
    list.push({ name: 'rewritten-key', request: { headers, body: first.body } })
  }
  if (plan.otherBody) list.push({ name: 'other-body', request: signed(undefined) })
  return list
}

/** How many requests deliver one callback. */
export function deliveryCount({
  repeat,
  rewrittenKey,
  otherBody,
}: Pick<Faults, 'repeat' | 'rewrittenKey' | 'otherBody'>): number {
  return 1 + [repeat, rewrittenKey, otherBody].filter(Boolean).length
}

function signingTime({ late, early }: Faults): string {
  return formatHttpDate(new Date(Date.now() - (late ?? 0) + (early ?? 0)))
}

/** @throws UsageError */
function tampered(body: Buffer): Buffer {
  if (body.length === 0) throw new UsageError('--tampered: an empty body has no byte to change')
  return withFlippedBit(body)
}
