import type { ArrivedHeaders } from '../inbox/inbox.js'

/** What is kept of the headers of a callback: names and values together, in characters, of which Node makes one of each byte. */
const MAX_HEADER_BYTES = 4_096

// Authorization, Cookie and alike, and whatever a proxy calls a copy of them. Authorization-Timestamp is signed and no secret.
const CREDENTIAL_NAME = /auth|signature|hmac|cookie|token|secret|passw|api-?key|session|credential/i
const CREDENTIAL_VALUE = /hmac-sha256|signature=/i
const TIMESTAMP = 'authorization-timestamp'

/**
 * The headers of a request for the inbox. Those that may hold a credential or a signature are left out. `lines` are alternating
 * names and values.
 */
export function arrivedHeaders(lines: readonly string[]): ArrivedHeaders {
  const pairs: [string, string][] = []
  let room = MAX_HEADER_BYTES
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const name = lines[index]!
    const value = lines[index + 1]!
    if (CREDENTIAL_NAME.test(name) && name.toLowerCase() !== TIMESTAMP) continue
    if (CREDENTIAL_VALUE.test(value)) continue
    room -= name.length + value.length
    if (room >= 0) {
      pairs.push([name, value])
      continue
    }
    const kept = value.length + room
    if (kept > 0) pairs.push([name, value.slice(0, kept)])
    return { pairs, isCut: true }
  }
  return { pairs, isCut: false }
}
