import type { Cause } from './causes.js'
import { likelyFinding, type Finding } from './finding.js'
import { parseHttpDate } from '../signature/index.js'
import { parseAuthorization } from '../signature/authorization-header.js'
import { valuesOf, type HeaderLine } from './received-request.js'
import { hasSignature, isRepeated } from './signature-candidates.js'

const REPLACEMENT = Buffer.from('\ufffd')
/** What parsers leave of a body that they did not read, or that somebody else had read. */
const LEFT_BY_PARSERS = ['', '{}', 'null', 'undefined', '""', '[object Object]']
const SHORT_SECRET_BYTES = 16

/** Signs of a mistake in a request whose signature matched under no change, the strongest first. */
export function likelyFindings(
  lines: readonly HeaderLine[],
  body: Buffer,
  secrets: readonly string[],
): Finding[] {
  const found: Finding[] = []
  const add = (cause: Cause, sign: string) => {
    if (!found.some((each) => each.cause === cause)) found.push(likelyFinding(cause, { sign }))
  }
  ofAuthorization(valuesOf(lines, 'authorization'), add)
  ofTimestamp(valuesOf(lines, 'authorization-timestamp'), add)
  ofBody(lines, body, add)
  if (found.length === 0 && secrets.some((secret) => Buffer.byteLength(secret) < SHORT_SECRET_BYTES)) {
    add('secret-truncated', `a configured secret has fewer than ${SHORT_SECRET_BYTES} bytes`)
  }
  return found
}

type Add = (cause: Cause, sign: string) => void

function ofAuthorization(values: readonly string[], add: Add): void {
  const [value] = values
  if (value === undefined) return add('authorization-stripped', 'there is no Authorization header')
  if (values.length > 1 || isRepeated(value))
    return add('authorization-repeated', 'there is more than one signature')
  if (/^(?:basic|bearer|digest|negotiate|ntlm|apikey|aws4-hmac-sha256)\b/i.test(value)) {
    return add('authorization-replaced', 'Authorization has another scheme')
  }
  if (value === '') return add('authorization-stripped', 'Authorization is empty')
  if (parseAuthorization(value) === undefined) {
    add(
      'authorization-scheme',
      hasSignature(value) ? 'Authorization has another form' : 'Authorization holds no signature',
    )
  }
}

function ofTimestamp(values: readonly string[], add: Add): void {
  const [value] = values
  if (value === undefined || value === '')
    return add('timestamp-missing', 'there is no Authorization-Timestamp header')
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
  const encoding = valuesOf(lines, 'content-encoding').find((each) => each.toLowerCase() !== 'identity')
  if (isCompressed(body)) add('body-compressed', 'the body begins like a compressed one')
  else if (encoding !== undefined)
    add('body-decompressed', 'there is a Content-Encoding, and the body is not compressed')
  else if (valuesOf(lines, 'x-original-content-encoding').length > 0) {
    add('body-decompressed', 'a proxy names the encoding that the body had')
  }
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
