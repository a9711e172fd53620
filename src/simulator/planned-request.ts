import { formatHttpDate, parseHttpDate } from '../signature/timestamp.js'
import { signedCallback, type SignedCallback } from '../testing/signed-callback.js'
import type { Authenticity } from './fault.js'
import type { ServiceSubscription } from './subscription-book.js'

/** How a request is sent. */
type Wire =
  | { readonly how: 'whole' | 'chunked' | 'cut-before-answer' | 'cut-in-body' }
  | { readonly how: 'trickled'; readonly overMs: number }

export interface PlannedRequest {
  readonly callback: SignedCallback
  readonly authenticity: Authenticity
  readonly wire: Wire
}

/** A callback as the service would send it. */
export interface Plain {
  readonly subscription: ServiceSubscription
  readonly idempotencyKey: string
  readonly body: Buffer
  readonly timestamp: Date | string
}

const WHOLE: Wire = { how: 'whole' }

export function sign(
  { subscription, idempotencyKey, body, timestamp }: Plain,
  {
    secret = subscription.secret,
    headers = {},
  }: { secret?: string; headers?: Record<string, string | null> } = {},
): SignedCallback {
  return signedCallback({
    subscription: { ...subscription, secret },
    idempotencyKey,
    body,
    timestamp,
    headers,
  })
}

/** Signed for the plain body, but sent with this one. */
export function withBody(plain: Plain, body: Buffer): SignedCallback {
  const { Authorization } = sign(plain).headers
  return sign({ ...plain, body }, { headers: { Authorization: Authorization! } })
}

/** The body with one bit changed in the middle, so that its length stays the same. */
export function withFlippedBit(body: Buffer): Buffer {
  const copy = Buffer.from(body)
  copy[copy.length >> 1]! ^= 1
  return copy
}

export function genuine(plain: Plain): PlannedRequest {
  return whole(sign(plain), 'genuine')
}

export function suspect(callback: SignedCallback): PlannedRequest {
  return whole(callback, 'suspect')
}

export function forged(callback: SignedCallback): PlannedRequest {
  return whole(callback, 'forged')
}

export function whole(callback: SignedCallback, authenticity: Authenticity): PlannedRequest {
  return { callback, authenticity, wire: WHOLE }
}

/** A timestamp has whole seconds. A second signature within the same second would be the same. */
export function signedLater(plain: Plain, seconds: number, clock: () => number): Plain {
  const first =
    typeof plain.timestamp === 'string' ? parseHttpDate(plain.timestamp)! : plain.timestamp.getTime()
  return { ...plain, timestamp: formatHttpDate(new Date(Math.max(clock(), first + seconds * 1_000))) }
}
