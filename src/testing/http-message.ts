/** What is wrong with a message. The text contains no part of the message, which may hold a signature or a token. */
export class MalformedMessage extends Error {}

export interface MessageHead {
  readonly startLine: string
  /** Name, value, name, value, as Node's `rawHeaders`. */
  readonly rawHeaders: string[]
  /** Where the body begins. */
  readonly end: number
}

const FIELD_LINE = /^([!#$%&'*+.^_`|~\w-]+):[\t ]*((?:.*[^\t ])?)[\t ]*$/

/** The start line and header fields (RFC 9112, sections 2.1 and 5), or undefined if they are incomplete. */
export function readHead(bytes: Buffer, start = 0): MessageHead | undefined {
  const end = bytes.indexOf('\r\n\r\n', start)
  if (end === -1) return undefined
  const [startLine = '', ...fieldLines] = bytes.toString('latin1', start, end).split('\r\n')
  const rawHeaders = fieldLines.flatMap((line, index) => {
    const field = /[^\t\x20-\x7e\x80-\xff]/.test(line) ? null : FIELD_LINE.exec(line)
    if (!field) throw new MalformedMessage(`header line ${index + 1} is not of the form "Name: value"`)
    return field.slice(1)
  })
  return { startLine, rawHeaders, end: end + 4 }
}

/**
 * The body after a head, and its end (RFC 9112, section 6.3), or undefined if it is incomplete. `unframedEnd` is the end
 * of a body without a length: a request has no body then, and a response ends with the connection. A message with two
 * lengths is refused, because different recipients may use different ones.
 */
export function readBody(
  bytes: Buffer,
  { rawHeaders, end: start }: MessageHead,
  unframedEnd: number | undefined,
): { body: Buffer; end: number } | undefined {
  const [encoding, ...moreEncodings] = headerValues(rawHeaders, 'transfer-encoding')
  const [length, ...moreLengths] = headerValues(rawHeaders, 'content-length')
  if (moreEncodings.length > 0 || moreLengths.length > 0 || (encoding !== undefined && length !== undefined))
    throw new MalformedMessage('the length of its body is given more than once')
  if (encoding !== undefined) {
    if (encoding.toLowerCase() !== 'chunked')
      throw new MalformedMessage('its Transfer-Encoding is not "chunked"')
    return readChunks(bytes, start)
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw new MalformedMessage('its Content-Length is not a decimal number')
  const end = length === undefined ? unframedEnd : start + Number(length)
  if (end === undefined || end > bytes.length) return undefined
  return { body: bytes.subarray(start, end), end }
}

/** All values of a header, by its name in lower case. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)
}

function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = /^([\da-f]{1,8})(?:;.*)?$/i.exec(bytes.toString('latin1', at, lineEnd))?.[1]
    if (size === undefined) throw new MalformedMessage('a chunk does not begin with its size')
    const from = lineEnd + 2
    const to = from + Number.parseInt(size, 16)
    if (to === from) {
      // The last chunk and the trailer fields have the syntax of a start line and header fields.
      const trailer = readHead(bytes, at)
      return trailer && { body: Buffer.concat(chunks), end: trailer.end }
    }
    if (bytes.length < to + 2) return undefined
    if (bytes.toString('latin1', to, to + 2) !== '\r\n')
      throw new MalformedMessage('a chunk is not as long as it says')
    chunks.push(bytes.subarray(from, to))
    at = to + 2
  }
}
