import type { CallbackEvent, CallbackIdentity, CallbackRequest, VerifiedCallback } from './callback.js'
import type { OutcomeCode } from './outcomes.js'
import { parsePayload } from './payload.js'
import type { PreparedSubscription } from './prepared-subscription.js'
import type { SignedUrl } from '../signature/callback-url.js'
import type { Credentials } from '../signature/credentials.js'
import type { HeaderValue } from '../signature/index.js'
import { hashBody, joinSigned } from '../signature/string-to-sign.js'
import { signatureMatches } from '../signature/verify.js'
import { isUuid } from '../base/uuid.js'

/** How far Authorization-Timestamp may be from now, in milliseconds. */
export interface Tolerance {
  readonly toleranceMs: number
  readonly futureToleranceMs: number
}

/** Why a callback whose signature matched is still not taken at its word. */
export type Suspicion = Extract<
  OutcomeCode,
  'ERR_TIMESTAMP_OUT_OF_TOLERANCE' | 'ERR_EVENT_TYPE_MISMATCH' | 'ERR_BODY_NOT_JSON'
>

export type Authentication =
  | { readonly verdict: 'genuine'; readonly callback: CallbackEvent; readonly identity: CallbackIdentity }
  | {
      readonly verdict: 'suspect'
      readonly callback: VerifiedCallback
      readonly identity: CallbackIdentity
      readonly suspicion: Suspicion
    }
  | { readonly verdict: 'refused'; readonly code: OutcomeCode; readonly error?: unknown }

/** From bytes and headers to a verified event, or the reason why not. Plain values in, plain values out. */
export function authenticate(
  { headers, body }: CallbackRequest,
  credentials: Credentials,
  candidates: readonly PreparedSubscription[],
  now: number,
  tolerance: Tolerance,
): Authentication {
  const type = single(headers.eventType)
  const bodyHash = hashBody(body)
  const subscription = matchingSubscription(credentials, bodyHash, candidates, type)
  if (!subscription) return { verdict: 'refused', code: 'ERR_SIGNATURE_MISMATCH' }

  const key = single(headers.idempotencyKey)?.toLowerCase()
  if (!key) return { verdict: 'refused', code: 'ERR_IDEMPOTENCY_KEY_MISSING' }
  if (!isUuid(key)) return { verdict: 'refused', code: 'ERR_IDEMPOTENCY_KEY_MALFORMED' }
  if (!type) return { verdict: 'refused', code: 'ERR_EVENT_TYPE_MISSING' }

  const { id, eventTypeName, callbackUrl, description } = subscription
  const rawBody = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const callback: VerifiedCallback = {
    type,
    idempotencyKey: key,
    signedAt: new Date(credentials.signedAtMs),
    receivedAt: new Date(now),
    rawBody,
    subscription: { id, eventTypeName, callbackUrl, description },
  }
  const identity = {
    key: `${key}@${id}`,
    bodyHash,
    signature: credentials.signature,
  }

  const age = now - credentials.signedAtMs
  if (type !== eventTypeName)
    return { verdict: 'suspect', callback, identity, suspicion: 'ERR_EVENT_TYPE_MISMATCH' }
  // Written so that a clock that gives no number lets nothing through.
  const isInTime = age <= tolerance.toleranceMs && -age <= tolerance.futureToleranceMs
  if (!isInTime) {
    return { verdict: 'suspect', callback, identity, suspicion: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE' }
  }
  const payload = parsePayload(rawBody)
  if (!payload) return { verdict: 'suspect', callback, identity, suspicion: 'ERR_BODY_NOT_JSON' }
  return { verdict: 'genuine', callback: { ...callback, payload, replayed: false }, identity }
}

/** Those of the claimed event type go first: subscriptions may share a URL and a secret. */
function matchingSubscription(
  { signature, timestamp }: Credentials,
  bodyHash: string,
  candidates: readonly PreparedSubscription[],
  type: string | undefined,
): PreparedSubscription | undefined {
  const received = Buffer.from(signature, 'latin1')
  let url: SignedUrl | undefined
  let text = ''
  const matches = (candidate: PreparedSubscription) => {
    if (candidate.url !== url) {
      url = candidate.url
      text = joinSigned(url, timestamp, bodyHash)
    }
    return signatureMatches(received, text, candidate.keys)
  }
  const others = []
  for (const candidate of candidates) {
    if (candidate.eventTypeName !== type) others.push(candidate)
    else if (matches(candidate)) return candidate
  }
  return others.find(matches)
}

function single(header: HeaderValue): string | undefined {
  return typeof header === 'string' ? header : header?.length === 1 ? header[0] : undefined
}
