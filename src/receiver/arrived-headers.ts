import type { ArrivedHeaders } from '../inbox/inbox.js'

/** What is kept of the headers of a callback: names and values together, in characters, of which Node makes one of each byte. */
const MAX_HEADER_BYTES = 4_096

// Authorization, Cookie and alike, and whatever a proxy calls a copy of them. Authorization-Timestamp is signed and no secret.
const CREDENTIAL_NAME = /auth|signature|hmac|cookie|token|secret|passw|api-?key|session|credential/i
const CREDENTIAL_VALUE = /hmac-sha256|signature=/i
const TIMESTAMP = 'authorization-timestamp'

/** HMAC-SHA256 in Base64: no shorter value holds a signature. */
const SIGNATURE_LENGTH = 44

/** A sender's names are nearly always the same. An attacker's names must not fill the memory. */
const MAX_REMEMBERED_NAMES = 100

/** Alternating names and values of a request, as the inbox keeps them. */
export type KeepHeaders = (lines: readonly string[]) => ArrivedHeaders

/** Leaves out the headers that may hold a credential or a signature. */
export function headerKeeper(): KeepHeaders {
  // To search a name takes longer than to find it here: with 12 headers 5 percent of the processor time of a callback.
  const kept = new Map<string, boolean>()

  function isKept(name: string): boolean {
    const known = kept.get(name)
    if (known !== undefined) return known
    const result = !CREDENTIAL_NAME.test(name) || name.toLowerCase() === TIMESTAMP
    if (kept.size < MAX_REMEMBERED_NAMES) kept.set(name, result)
    return result
  }

  return (lines) => {
    const pairs: [string, string][] = []
    let room = MAX_HEADER_BYTES
    for (let index = 0; index + 1 < lines.length; index += 2) {
      const name = lines[index]!
      const value = lines[index + 1]!
      if (!isKept(name) || (value.length >= SIGNATURE_LENGTH && CREDENTIAL_VALUE.test(value))) continue
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
