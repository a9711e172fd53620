import type { Cause } from './causes.js'
import { findingOfSign, type Finding } from './finding.js'
import { shownHeader } from './header-names.js'
import { FOREIGN_SCHEME_START } from '../base/credential-headers.js'
import { parseHttpDate } from '../signature/timestamp.js'
import { parseAuthorization } from '../signature/authorization-header.js'
import { valuesOf, type HeaderLine } from './received-request.js'
import { hasSignature, isRepeated, renamedLines, spellingOf } from './signature-candidates.js'
import { isOfOtherAlgorithm, meaningOf, otherSignatures } from './signature-lengths.js'
import { momentOf } from './timestamp-changes.js'
import { isTimestampName, MAX_TIMESTAMPS } from './timestamp-variants.js'

const REPLACEMENT = Buffer.from('\ufffd')
/** What parsers leave of a body that they did not read, or that somebody else had read. */
const LEFT_BY_PARSERS = ['', '{}', 'null', 'undefined', '""', '[object Object]']

interface Tried {
  /** Whether the signatures that arrived were compared. */
  readonly signatures: boolean
  /** The causes of which every form was compared. */
  readonly causes: readonly Cause[]
}

/**
 * Signs of a mistake in a request whose signature matched under no change, the strongest first. Without a body if it was not
 * read. A mistake that was tried is no cause, because it would have matched.
 */
export function likelyFindings(
  lines: readonly HeaderLine[],
  body: Buffer | undefined,
  tried: Tried,
): Finding[] {
  const found: Finding[] = []
  const add = (cause: Cause, sign: string) => {
    if (!found.some((each) => each.cause === cause)) found.push(findingOfSign(cause, { sign }))
  }
  ofAuthorization(lines, tried, add)
  ofTimestamp(lines, tried, add)
  if (body) ofBody(lines, body, tried, add)
  else if (contentEncoding(lines) !== undefined)
    add('body-compressed', 'there is a Content-Encoding, so the receiver did not read the body')
  return found
}

type Add = (cause: Cause, sign: string) => void

function ofAuthorization(lines: readonly HeaderLine[], tried: Tried, add: Add): void {
  const values = valuesOf(lines, 'authorization')
  const [value = ''] = values
  if (values.length === 1 && parseAuthorization(value) !== undefined) return
  const other = tried.signatures ? undefined : renamedLines(lines).find((line) => hasSignature(line.value))
  if (other) add('headers-renamed', `${shownHeader(other.name)} has what may be the signature`)
  const schemes = values.map((each) => FOREIGN_SCHEME_START.exec(each)?.[1])
  if (values.every((each) => each === ''))
    return add(
      'authorization-stripped',
      values.length === 0 ? 'there is no Authorization header' : 'Authorization is empty',
    )
  if (schemes.every((each) => each !== undefined))
    return add('authorization-replaced', `Authorization has the scheme ${schemes[0]}`)
  const spelling = values.map(spellingOf).find((each) => each !== undefined)
  if (spelling && tried.signatures) return
  if (values.length > 1 || isRepeated(value))
    return add(
      'authorization-repeated',
      spelling ? 'there is more than one signature' : 'there is more than one Authorization header',
    )
  if (spelling) return add(spelling, 'Authorization has another form')
  const [ofOtherLength] = otherSignatures(lines)
  if (!ofOtherLength) return add('authorization-scheme', 'Authorization has no value of 32 bytes')
  const cause = isOfOtherAlgorithm(ofOtherLength) ? 'signature-algorithm' : 'authorization-scheme'
  if (!tried.causes.includes(cause)) add(cause, meaningOf(ofOtherLength))
}

function ofTimestamp(lines: readonly HeaderLine[], tried: Tried, add: Add): void {
  const values = valuesOf(lines, 'authorization-timestamp')
  const [value] = values
  if (value === undefined || value === '') {
    const other = lines.find(({ name }) => name !== 'authorization-timestamp' && isTimestampName(name))
    if (other && !tried.signatures)
      add('headers-renamed', `${shownHeader(other.name)} has what may be the timestamp`)
    return add('timestamp-missing', 'there is no Authorization-Timestamp header')
  }
  if (values.length > 1) {
    if (!tried.signatures || values.length > MAX_TIMESTAMPS)
      add('timestamp-repeated', 'there is more than one Authorization-Timestamp header')
    return
  }
  const isTried = tried.signatures && momentOf(value) !== undefined
  if (parseHttpDate(value) === undefined && !isTried)
    add('timestamp-reformatted', 'Authorization-Timestamp is not an HTTP date')
}

function ofBody(lines: readonly HeaderLine[], body: Buffer, tried: Tried, add: Add): void {
  const length = contentLength(lines)
  const text = body.length <= 32 ? body.toString('latin1').trim() : undefined
  if (text !== undefined && LEFT_BY_PARSERS.includes(text)) {
    add('body-empty', body.length === 0 ? 'the body is empty' : 'the body is what a parser leaves of one')
  } else if (
    length !== undefined &&
    length !== body.length &&
    !(length < body.length && tried.causes.includes('body-truncated'))
  ) {
    add('body-truncated', `Content-Length is ${length}, and the body has ${body.length} bytes`)
  }
  if (body.includes(REPLACEMENT))
    add('body-decoded', 'the body has U+FFFD, which replaces bytes that were not UTF-8')
  if (isCompressed(body)) {
    if (!tried.causes.includes('body-compressed'))
      add('body-compressed', 'the body begins like a compressed one')
  } else if (contentEncoding(lines) !== undefined)
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
