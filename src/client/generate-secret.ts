import { randomBytes } from 'node:crypto'

/**
 * A secret for a new subscription: 256 random bits as 43 characters of base64url, as many as HMAC-SHA256 can make use of.
 * This text is the secret, for `subscriptions.create` as for the receiver; that it looks encoded is of no meaning.
 */
export function generateSecret(): string {
  return randomBytes(32).toString('base64url')
}
