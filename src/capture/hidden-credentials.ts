import { CREDENTIAL_NAME, JWT_START } from '../base/credential-headers.js'
import { markSignatures } from '../diagnosis/signature-marker.js'

const HIDDEN = '[hidden]'

const MAY_SIGN = /auth|signature|hmac/i
const MARKER = /(\[salted-sha256:[^\]]*\])/
/** A longer word without spaces may be a credential. `HMAC-SHA256` and the words of dates are shorter. */
const LONG_WORD = /[\w.~+/=-]{16,}/g
const AFTER_SCHEME = /\b(basic|bearer|digest|token|apikey)[ =:]+[^\s,;[]+/gi

/**
 * The value of a header for a capture: signatures as salted digests, other credentials hidden. A proxy may have put the
 * signature into any header.
 */
export function hideCredentials(name: string, value: string): string {
  // Both are part of what is signed or of what identifies the callback, and neither is a credential.
  if (/timestamp|^x-idempotency-key$/i.test(name)) return value
  if (CREDENTIAL_NAME.test(name)) return HIDDEN
  // The scheme of Authorization is kept: explain says which one arrived in place of HMAC-SHA256.
  if (!MAY_SIGN.test(name) && !/hmac-sha256|signature=/i.test(value))
    return JWT_START.test(value) ? HIDDEN : markSignatures(value)
  return markSignatures(value)
    .split(MARKER)
    .map((part) => (MARKER.test(part) ? part : withoutWords(part)))
    .join('')
}

function withoutWords(text: string): string {
  return text.replace(AFTER_SCHEME, `$1 ${HIDDEN}`).replace(LONG_WORD, HIDDEN)
}
