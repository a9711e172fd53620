import { CREDENTIAL_NAME, JWT_START } from '../base/credential-headers.js'
import { markSignatures } from '../diagnosis/signature-marker.js'

const HIDDEN = '[hidden]'

const IDEMPOTENCY_KEY = /^x-idempotency-key$/i
const MAY_SIGN = /auth|signature|hmac/i
/** A proxy may have put Authorization into any header, also into that of the timestamp. */
const HAS_SCHEME = /hmac-sha256|signature=|^\s*(?:basic|bearer|digest|negotiate)\s/i
/** Without a bracket within. Otherwise each of many openings without an end would be searched to the end of the value. */
const MARKER = /(\[salted-sha256:[^[\]]*\])/
/** A longer word without spaces may be a credential. `HMAC-SHA256` and the words of dates are shorter. */
const LONG_WORD = /[\w.~+/=-]{16,}/g
const AFTER_SCHEME = /\b(basic|bearer|digest|token|apikey)[ =:]+[^\s,;[]+/gi

/**
 * The value of a header for a capture: signatures as salted digests, other credentials hidden. A proxy may have put the
 * signature into any header.
 */
export function hideCredentials(name: string, value: string): string {
  if (CREDENTIAL_NAME.test(name) && !IDEMPOTENCY_KEY.test(name)) return HIDDEN
  // The scheme of Authorization is kept: explain says which one arrived in place of HMAC-SHA256.
  const hidesWords = HAS_SCHEME.test(value) || (MAY_SIGN.test(name) && !/timestamp/i.test(name))
  if (!hidesWords) return JWT_START.test(value) ? HIDDEN : markSignatures(value)
  return markSignatures(value)
    .split(MARKER)
    .map((part) => (MARKER.test(part) ? part : withoutWords(part)))
    .join('')
}

function withoutWords(text: string): string {
  return text.replace(AFTER_SCHEME, `$1 ${HIDDEN}`).replace(LONG_WORD, HIDDEN)
}
