import type { Socket } from 'node:net'

/** Far more than any interim response has. Node's own limit for the headers of a response. */
const MAX_HEAD_BYTES = 16_384

const REQUEST_HEAD = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/
// Except 101, which ends HTTP on the connection.
const INTERIM_RESPONSE = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const BEGINNING = 'HTTP/1.1 100 '

/**
 * Removes interim responses (1xx) from what a socket reads. RFC 9110, section 15.2: a client must be able to parse
 * them "even if the client does not expect one". undici 7 destroys the connection at an unexpected 100
 * (`onHeadersComplete` in client-h1.js), and then it is not known whether the service has acted on the request.
 *
 * A response begins after the headers of a request were written: undici writes them as one text, and sends one
 * request at a time. The body of a response is never parsed.
 */
export function withoutInterimResponses(socket: Socket): Socket {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean
  let isBeginning = false
  let held: Buffer = Buffer.alloc(0)

  socket.write = (chunk: unknown, ...rest: unknown[]) => {
    if (typeof chunk === 'string' && REQUEST_HEAD.test(chunk)) isBeginning = true
    return write(chunk, ...rest)
  }
  socket.read = (size?: number): unknown => {
    for (;;) {
      const chunk = read(size) as Buffer | null
      if (!isBeginning || chunk === null) return chunk
      held = afterInterimResponses(Buffer.concat([held, chunk]))
      if (mayBeInterim(held)) continue
      const final = held
      held = Buffer.alloc(0)
      isBeginning = false
      return final
    }
  }
  return socket
}

function afterInterimResponses(bytes: Buffer): Buffer {
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1 || !INTERIM_RESPONSE.test(bytes.toString('latin1', 0, 16))) return bytes
    bytes = bytes.subarray(end + 4)
  }
}

/** Whether more bytes are needed to decide. */
function mayBeInterim(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, BEGINNING.length)
  if (text.length < BEGINNING.length)
    return BEGINNING.startsWith(text) || /^HTTP\/1\.[01]( 1?\d{0,2})?$/.test(text)
  return INTERIM_RESPONSE.test(text) && bytes.length < MAX_HEAD_BYTES
}
