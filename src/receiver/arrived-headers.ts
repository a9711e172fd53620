import { CREDENTIAL_NAME, FOREIGN_SCHEME, JWT_START } from '../base/credential-headers.js'
import { SIGNATURE } from '../base/without-credentials.js'
import { withoutQuery } from '../callback/subscriptions.js'
import type { ArrivedHeaders } from '../inbox/operations.js'

/** The limit for all names and values together. Node decodes headers as Latin-1, so one character is one byte. */
const MAX_HEADER_BYTES = 4_096

/** Authorization, and other names under which a proxy may copy it. */
const SIGNATURE_NAME = /auth|sig(?:nature)?$|hmac/i
// Authorization-Timestamp is signed and not a secret, and the key identifies the callback.
const HARMLESS_NAME = /^(?:authorization-timestamp|x-idempotency-key)$/i
// The schemes of Authorization, and a signature.
const CREDENTIAL_VALUE = new RegExp(
  String.raw`hmac-sha256|signature=|^\s*(?:${FOREIGN_SCHEME})\s|${SIGNATURE}`,
  'i',
)
// A path or URL with a query. A callback URL may have a credential in its query.
const WITH_QUERY = /^\s*(?:[a-z]+:\/)?\/[^?]*\?/i

/** A sender's names and values are nearly always the same. Others must not fill the memory. */
const MAX_REMEMBERED = 100
const MAX_REMEMBERED_LENGTH = 200

/** Alternating names and values of a request, as the inbox keeps them. */
type KeepHeaders = (lines: readonly string[]) => ArrivedHeaders

/** Leaves out the headers that may hold a credential or a signature. */
export function headerKeeper(): KeepHeaders {
  // Matching these expressions takes 5 percent of the processor time of a callback, so their results are kept.
  const names = remembered(
    (name) => HARMLESS_NAME.test(name) || !(SIGNATURE_NAME.test(name) || CREDENTIAL_NAME.test(name)),
  )
  const values = remembered((value) => {
    if (CREDENTIAL_VALUE.test(value) || JWT_START.test(value)) return undefined
    // Proxies keep the address of a request in headers such as X-Original-URL.
    return WITH_QUERY.test(value) ? withoutQuery(value) : value
  })

  return (lines) => {
    const pairs: [string, string][] = []
    let room = MAX_HEADER_BYTES
    for (let index = 0; index + 1 < lines.length; index += 2) {
      const name = lines[index]!
      if (!names(name)) continue
      const value = values(lines[index + 1]!)
      if (value === undefined) continue
      room -= name.length + value.length
      if (room >= 0) {
        pairs.push([name, value])
        continue
      }
      const end = value.length + room
      if (end > 0) pairs.push([name, value.slice(0, end)])
      return { pairs, isCut: true }
    }
    return { pairs, isCut: false }
  }
}

function remembered<Result>(compute: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, Result>()
  return (text) => {
    if (results.has(text)) return results.get(text) as Result
    const result = compute(text)
    if (results.size === MAX_REMEMBERED) results.clear()
    if (text.length <= MAX_REMEMBERED_LENGTH) results.set(text, result)
    return result
  }
}
