import { createHash, randomUUID } from 'node:crypto'

/** 32 bytes in Base64, as the hash of a body and a signature are: 44 characters. */
export function randomHash(): string {
  return createHash('sha256').update(randomUUID()).digest('base64')
}
