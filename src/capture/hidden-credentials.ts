import { markSignatures } from '../diagnosis/signature-marker.js'

export const HIDDEN = '[hidden]'

const MAY_SIGN = /auth|signature|hmac/i
// Gateways add keys and identity tokens under names of their own: Ocp-Apim-Subscription-Key, X-Goog-Iap-Jwt-Assertion,
// X-Amzn-Oidc-Data.
const CREDENTIALS = /cookie|token|secret|passw|key$|session|credential|jwt|oidc/i
const MARKER = /(\[salted-sha256:[^\]]*\])/
/** A longer word without spaces may be a credential. `HMAC-SHA256` and the words of dates are shorter. */
const LONG_WORD = /[\w.~+/=-]{16,}/g
const AFTER_SCHEME = /\b(basic|bearer|digest|token|apikey)[ =:]+[^\s,;[]+/gi

/**
 * The value of a header for a capture: signatures as salted digests, other credentials hidden. A proxy may have put the
 * signature into any header of a similar name.
 */
export function hideCredentials(name: string, value: string): string {
  // Both are part of what is signed or of what identifies the callback, and neither is a credential.
  if (/timestamp|^x-idempotency-key$/i.test(name)) return value
  if (CREDENTIALS.test(name)) return HIDDEN
  if (!MAY_SIGN.test(name) && !/hmac-sha256|signature=/i.test(value)) return value
  return markSignatures(value)
    .split(MARKER)
    .map((part) => (MARKER.test(part) ? part : withoutWords(part)))
    .join('')
}

function withoutWords(text: string): string {
  return text.replace(AFTER_SCHEME, `$1 ${HIDDEN}`).replace(LONG_WORD, HIDDEN)
}
