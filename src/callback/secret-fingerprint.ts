import { createHmac, type KeyObject } from 'node:crypto'

/**
 * Must not change, because fingerprints are stored. The text that is signed for a callback (SERVICE 5.1) cannot be
 * this one.
 */
const LABEL = 'countersign secret fingerprint 1'

/**
 * Identifies a secret of a subscription, in results and in inboxes, without revealing it. It is the beginning of an
 * HMAC-SHA256 of a fixed text with the secret as key. The HMAC is a one-way function of its key, so it reveals no
 * more about the secret than the signature of any callback: a guess can be tested against it. 48 bits distinguish
 * the few secrets of a subscription, and are too few to be used as a key.
 */
export function secretFingerprint(key: KeyObject): string {
  return createHmac('sha256', key).update(LABEL).digest('hex').slice(0, 12)
}
