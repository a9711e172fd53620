import { createHmac, type KeyObject } from 'node:crypto'

/** Never changed: fingerprints are stored. What is signed for a callback (SERVICE 5.1) cannot be this text. */
const LABEL = 'countersign secret fingerprint 1'

/**
 * Tells the secrets of a subscription apart, in results and in inboxes, without revealing them. It is the beginning of an
 * HMAC-SHA256 of a fixed text under the secret. As the HMAC is a one-way function of its key, it says as little about the
 * secret as the signature of any callback does: a guess can be tested against it, and nothing else. 48 bits are enough to
 * tell the few secrets of a subscription apart, and too few to be a key for anything.
 */
export function secretFingerprint(key: KeyObject): string {
  return createHmac('sha256', key).update(LABEL).digest('hex').slice(0, 12)
}
