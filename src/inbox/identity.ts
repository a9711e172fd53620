import { hash } from 'node:crypto'
import type { Arrival } from './engine.js'

/**
 * Repeats are recognised by these. 16 bytes of each are enough to tell them apart, and half a signature from a stolen file
 * cannot be replayed.
 */
export interface Identity {
  readonly keyHash: Uint8Array
  readonly bodyHash: Uint8Array
  readonly signature: Uint8Array
}

/** The bytes that `writeIdentity` writes, 16 for each part. */
export const IDENTITY_BYTES = 48

/** What the parts of an identity are computed from. */
type Identified = Pick<Arrival, 'callback' | 'key' | 'bodyHash' | 'signature'>

export function identityOf(arrival: Identified): Identity {
  const bytes = Buffer.alloc(IDENTITY_BYTES)
  writeIdentity(arrival, bytes, 0)
  return { keyHash: bytes.subarray(0, 16), bodyHash: bytes.subarray(16, 32), signature: bytes.subarray(32) }
}

/** Writes the three parts one after the other: a Buffer for each would cost more than what is written. */
export function writeIdentity(
  { callback, key, bodyHash, signature }: Identified,
  bytes: Buffer,
  at: number,
): void {
  bytes.write(sha256(callback.idempotencyKey), at, 8, 'base64')
  bytes.write(sha256(key), at + 8, 8, 'base64')
  bytes.write(bodyHash, at + 16, 16, 'base64')
  bytes.write(signature, at + 32, 16, 'base64')
}

/** The first and the last `keyHash` that an idempotency key can have: its first half does not depend on the subscription. */
export function keyHashRange(idempotencyKey: string): [Uint8Array, Uint8Array] {
  const start = Buffer.from(sha256(idempotencyKey), 'base64').subarray(0, 8)
  return [Buffer.concat([start, Buffer.alloc(8, 0)]), Buffer.concat([start, Buffer.alloc(8, 0xff)])]
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** A nonce of a probe, as it is stored among the signatures of callbacks. */
export function probeNonceBytes(nonce: string): Uint8Array {
  return Buffer.from(nonce.replaceAll('-', ''), 'hex')
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64')
}
