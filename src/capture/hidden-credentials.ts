import {
  CREDENTIAL_NAME,
  FOREIGN_SCHEME,
  FOREIGN_SCHEME_START,
  JWT_START,
} from '../base/credential-headers.js'
import { hiddenLength } from '../diagnosis/signature-lengths.js'
import { markSignatures } from '../diagnosis/signature-marker.js'

const HIDDEN = '[hidden]'

const IDEMPOTENCY_KEY = /^x-idempotency-key$/i
const MAY_SIGN = /auth|signature|hmac/i
/** A proxy may have put Authorization into any header, also into that of the timestamp. */
const HAS_SCHEME = /hmac-sha|signature=/i
/** Without a bracket within. Otherwise each of many openings without an end would be searched to the end of the value. */
const MARKER = /(\[salted-sha256:[^[\]]*\])/
/**
 * A scheme and everything after it, up to the scheme of the service that a proxy joined to it; or a longer word without spaces,
 * which may be a credential. `HMAC-SHA256` and the words of dates are shorter.
 */
const CREDENTIALS = new RegExp(
  `(?<![\\w-])(${FOREIGN_SCHEME})[ =:]+(?:(?!,\\s*hmac-sha256\\b)[^])*|[\\w.~+/=-]{16,}`,
  'gi',
)

/**
 * The value of a header for a capture: signatures as salted digests, other credentials hidden. A proxy may have put the
 * signature into any header.
 */
export function hideCredentials(name: string, value: string): string {
  if (CREDENTIAL_NAME.test(name) && !IDEMPOTENCY_KEY.test(name)) return HIDDEN
  const isForeign = FOREIGN_SCHEME_START.test(value)
  const hidesWords = isForeign || HAS_SCHEME.test(value) || (MAY_SIGN.test(name) && !/timestamp/i.test(name))
  if (!hidesWords) return JWT_START.test(value) ? HIDDEN : markSignatures(value)
  return markSignatures(value)
    .split(MARKER)
    .map((part, at) => {
      if (MARKER.test(part)) return part
      // A parameter of another scheme may be a short credential.
      return isForeign && at > 0 ? part.replace(/[^\s,;]+/g, hiddenUnlessScheme) : withoutWords(part)
    })
    .join('')
}

/** The scheme is kept: explain says which one arrived in place of HMAC-SHA256. */
function withoutWords(text: string): string {
  return text.replace(CREDENTIALS, (word, scheme?: string) =>
    scheme === undefined ? (hiddenLength(word) ?? HIDDEN) : `${scheme} ${HIDDEN}`,
  )
}

function hiddenUnlessScheme(word: string): string {
  return /^(?:hmac-sha256|signature=)$/i.test(word) ? word : HIDDEN
}
