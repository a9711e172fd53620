import type { Cause } from './causes.js'
import { likelyFinding, type Finding } from './finding.js'
import { parseHttpDate } from '../signature/index.js'
import { parseAuthorization } from '../signature/authorization-header.js'
import { valuesOf, type HeaderLine } from './received-request.js'
import { isRepeated, renamed, spellingOf } from './signature-candidates.js'
import { isTimestampName } from './timestamp-variants.js'

const REPLACEMENT = Buffer.from('\ufffd')
/** What parsers leave of a body that they did not read, or that somebody else had read. */
const LEFT_BY_PARSERS = ['', '{}', 'null', 'undefined', '""', '[object Object]']
const SHORT_SECRET_BYTES = 16

/**
 * Signs of a mistake in a request whose signature matched under no change, the strongest first. Without a body if it was not
 * read.
 */
export function likelyFindings(
  lines: readonly HeaderLine[],
  body: Buffer | undefined,
  secrets: readonly string[],
): Finding[] {
  const found: Finding[] = []
  const add = (cause: Cause, sign: string) => {
    if (!found.some((each) => each.cause === cause)) found.push(likelyFinding(cause, { sign }))
  }
  ofAuthorization(lines, add)
  ofTimestamp(lines, add)
  if (!body) {
    if (contentEncoding(lines) !== undefined)
      add('body-compressed', 'there is a Content-Encoding, so the receiver did not read the body')
    return found
  }
  ofBody(lines, body, add)
  if (found.length === 0 && secrets.some((secret) => Buffer.byteLength(secret) < SHORT_SECRET_BYTES)) {
    add('secret-truncated', `a configured secret has fewer than ${SHORT_SECRET_BYTES} bytes`)
  }
  return found
}

type Add = (cause: Cause, sign: string) => void

function ofAuthorization(lines: readonly HeaderLine[], add: Add): void {
  const values = valuesOf(lines, 'authorization')
  const [value] = values
  if (values.length > 1 || (value !== undefined && isRepeated(value)))
    return add('authorization-repeated', 'there is more than one signature')
  if (value !== undefined && parseAuthorization(value) !== undefined) return
  if (renamed(lines).length > 0) add('headers-renamed', 'another header holds what may be the signature')
  if (value === undefined) return add('authorization-stripped', 'there is no Authorization header')
  if (/^(?:basic|bearer|digest|negotiate|ntlm|apikey|aws4-hmac-sha256)\b/i.test(value)) {
    return add('authorization-replaced', 'Authorization has another scheme')
  }
  if (value === '') return add('authorization-stripped', 'Authorization is empty')
  const spelling = spellingOf(value)
  add(
    spelling ?? 'authorization-scheme',
    spelling ? 'Authorization has another form' : 'Authorization holds no signature',
  )
}

function ofTimestamp(lines: readonly HeaderLine[], add: Add): void {
  const values = valuesOf(lines, 'authorization-timestamp')
  const [value] = values
  if (value === undefined || value === '') {
    if (lines.some(({ name }) => name !== 'authorization-timestamp' && isTimestampName(name)))
      add('headers-renamed', 'another header holds what may be the timestamp')
    return add('timestamp-missing', 'there is no Authorization-Timestamp header')
  }
  if (values.length > 1)
    return add('timestamp-repeated', 'there is more than one Authorization-Timestamp header')
  if (parseHttpDate(value) === undefined)
    add('timestamp-reformatted', 'Authorization-Timestamp is not an HTTP date')
}

function ofBody(lines: readonly HeaderLine[], body: Buffer, add: Add): void {
  const length = contentLength(lines)
  const text = body.length <= 32 ? body.toString('latin1').trim() : undefined
  if (text !== undefined && LEFT_BY_PARSERS.includes(text)) {
    add('body-empty', body.length === 0 ? 'the body is empty' : 'the body is what a parser leaves of one')
  } else if (length !== undefined && length !== body.length) {
    add('body-truncated', `Content-Length is ${length}, and the body has ${body.length} bytes`)
  }
  if (body.includes(REPLACEMENT))
    add('body-decoded', 'the body has U+FFFD, which replaces bytes that were not UTF-8')
  if (isCompressed(body)) add('body-compressed', 'the body begins like a compressed one')
  else if (contentEncoding(lines) !== undefined)
    add('body-decompressed', 'there is a Content-Encoding, and the body is not compressed')
  else if (valuesOf(lines, 'x-original-content-encoding').length > 0) {
    add('body-decompressed', 'a proxy names the encoding that the body had')
  }
}

function contentEncoding(lines: readonly HeaderLine[]): string | undefined {
  return valuesOf(lines, 'content-encoding').find((each) => each.toLowerCase() !== 'identity')
}

/** Undefined unless there is exactly one, and it is a number. */
export function contentLength(lines: readonly HeaderLine[]): number | undefined {
  const [value = '', ...more] = valuesOf(lines, 'content-length')
  return more.length === 0 && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

/** RFC 1952 and RFC 1950. Brotli has no signature. */
function isCompressed(body: Buffer): boolean {
  const start = body.length >= 2 ? body.readUInt16BE(0) : 0
  return start === 0x1f8b || (body[0] === 0x78 && start % 31 === 0)
}
