import type { StoredCallback } from './callback.js'

/**
 * A copy with bytes and dates of its own, as an inbox on a disk has one: the application may change those of what it was given or has
 * passed. The payload of an event is left out.
 */
export function copyOfCallback(
  callback: StoredCallback,
  traceContext: string | undefined = callback.traceContext,
): StoredCallback {
  const { type, idempotencyKey, signedAt, receivedAt, rawBody, subscription, secretFingerprint } = callback
  // On Node 20 a spread with further properties would take one to four microseconds.
  const copy: { -readonly [Name in keyof StoredCallback]: StoredCallback[Name] } = {
    type,
    idempotencyKey,
    signedAt: new Date(signedAt),
    receivedAt: new Date(receivedAt),
    rawBody: Buffer.from(rawBody),
    subscription,
    secretFingerprint,
  }
  if (traceContext !== undefined) copy.traceContext = traceContext
  return copy
}
