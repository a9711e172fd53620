import { hash } from 'node:crypto'
import type { Arrival } from './inbox.js'

/**
 * By which repeats are recognised. 16 bytes of each tell them apart, and half a signature cannot be replayed by whoever
 * gets to read the file.
 */
export interface Identity {
  readonly keyHash: Uint8Array
  readonly bodyHash: Uint8Array
  readonly signature: Uint8Array
}

export function identityOf({ callback, key, bodyHash, signature }: Arrival): Identity {
  return {
    keyHash: Buffer.concat([half(callback.idempotencyKey), half(key)]),
    bodyHash: Buffer.from(bodyHash, 'base64').subarray(0, 16),
    signature: Buffer.from(signature, 'base64').subarray(0, 16),
  }
}

/** The first and the last `keyHash` that an idempotency key can have: it begins alike for every subscription. */
export function keyHashRange(idempotencyKey: string): [Uint8Array, Uint8Array] {
  const start = half(idempotencyKey)
  return [Buffer.concat([start, Buffer.alloc(8, 0)]), Buffer.concat([start, Buffer.alloc(8, 0xff)])]
}

function half(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, 8)
}
