import { randomBytes } from 'node:crypto'

/**
 * A secret for a new subscription: 256 random bits as 43 characters of base64url. More bits would not make
 * HMAC-SHA256 stronger. This text itself is the secret, for `subscriptions.create` and for the receiver. It is not
 * decoded.
 */
export function generateSecret(): string {
  return randomBytes(32).toString('base64url')
}
