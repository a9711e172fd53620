import {
  onlyValue,
  type CallbackEvent,
  type CallbackIdentity,
  type ReadRequest,
  type VerifiedCallback,
} from './callback.js'
import type { OutcomeCode } from './outcomes.js'
import { parsePayload } from './payload.js'
import type { PreparedSubscription } from './prepared-subscription.js'
import type { SignedUrl } from '../signature/callback-url.js'
import type { Credentials } from '../signature/credentials.js'
import { hashBody, joinSigned } from '../signature/string-to-sign.js'
import { matchingKey } from '../signature/verify.js'
import { isUuid } from '../base/uuid.js'
import { withoutCredentials } from '../base/without-credentials.js'

/** How far Authorization-Timestamp may differ from the current time, in milliseconds. */
export interface Tolerance {
  readonly toleranceMs: number
  readonly futureToleranceMs: number
}

export const DEFAULT_TOLERANCE: Tolerance = { toleranceMs: 86_400_000, futureToleranceMs: 300_000 }

/**
 * Why a callback is suspect although its signature is valid: an unsigned header may have been rewritten, or it is a
 * replay.
 */
type Suspicion = Extract<
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

/** Verifies a callback. A pure function: the time and the subscriptions are arguments. */
export function authenticate(
  { headers, credentials, body }: ReadRequest,
  candidates: readonly PreparedSubscription[],
  now: number,
  tolerance: Tolerance,
): Authentication {
  const type = onlyValue(headers.eventType)
  const bodyHash = hashBody(body)
  const match = findMatch(credentials, bodyHash, candidates, type)
  if (!match) return { verdict: 'refused', code: 'ERR_SIGNATURE_MISMATCH' }

  const key = onlyValue(headers.idempotencyKey)?.toLowerCase()
  if (!key) return { verdict: 'refused', code: 'ERR_IDEMPOTENCY_KEY_MISSING' }
  if (!isUuid(key)) return { verdict: 'refused', code: 'ERR_IDEMPOTENCY_KEY_MALFORMED' }
  if (!type) return { verdict: 'refused', code: 'ERR_EVENT_TYPE_MISSING' }

  const { id, eventTypeName, withoutSecrets } = match.subscription
  const payload = parsePayload(body)
  // One literal for both verdicts: genuine callbacks must not be copied, because that takes 3 percent of their time.
  const event = {
    // Another type is only shown to operators.
    type: type === eventTypeName ? type : withoutCredentials(type),
    idempotencyKey: key,
    signedAt: new Date(credentials.signedAtMs),
    receivedAt: new Date(now),
    rawBody: body,
    subscription: withoutSecrets,
    secretFingerprint: match.secretFingerprint,
    payload,
    byOperator: false,
  }
  const identity = { key: `${key}@${id}`, bodyHash, signature: credentials.signature }
  const suspicion = suspicionOf(event, eventTypeName, now, tolerance)
  if (!suspicion) return { verdict: 'genuine', callback: event as CallbackEvent, identity }
  return { verdict: 'suspect', callback: withoutPayload(event), identity, suspicion }
}

function suspicionOf(
  { type, signedAt, payload }: CallbackEvent<string, unknown>,
  eventTypeName: string,
  now: number,
  { toleranceMs, futureToleranceMs }: Tolerance,
): Suspicion | undefined {
  if (type !== eventTypeName) return 'ERR_EVENT_TYPE_MISMATCH'
  const age = now - Number(signedAt)
  // If the clock returns NaN, both comparisons are false, and nothing is accepted.
  const isInTime = age <= toleranceMs && -age <= futureToleranceMs
  if (!isInTime) return 'ERR_TIMESTAMP_OUT_OF_TOLERANCE'
  return payload ? undefined : 'ERR_BODY_NOT_JSON'
}

function withoutPayload({
  payload,
  byOperator,
  ...verified
}: CallbackEvent<string, unknown>): VerifiedCallback {
  return verified
}

interface Match {
  readonly subscription: PreparedSubscription
  readonly secretFingerprint: string
}

/** Subscriptions of the claimed event type go first, because several may share a URL and a secret. */
function findMatch(
  credentials: Credentials,
  bodyHash: string,
  candidates: readonly PreparedSubscription[],
  type: string | undefined,
): Match | undefined {
  const received = Buffer.from(credentials.signature, 'latin1')
  let url: SignedUrl | undefined
  let text = ''
  for (const isOfType of [true, false]) {
    for (const subscription of candidates) {
      if ((subscription.eventTypeName === type) !== isOfType) continue
      if (subscription.url !== url) {
        url = subscription.url
        text = joinSigned(url, credentials.timestamp, bodyHash)
      }
      const secretFingerprint = subscription.fingerprints[matchingKey(received, text, subscription.keys)]
      if (secretFingerprint !== undefined) return { subscription, secretFingerprint }
    }
  }
  return undefined
}
