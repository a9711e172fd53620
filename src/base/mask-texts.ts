import { secretSpellings } from './secret-spellings.js'

const MARK = '\ufdd0' // A noncharacter of Unicode: in no secret and in no answer.
const SHORT = 6
/** With a lower limit, any longer run of letters could by chance decode to a text that contains the secret. */
const MIN_DECODED = 4

/**
 * Returns a function that removes secrets from a text in all their forms: in other letter cases, because the client
 * secret is "not case-sensitive" (SERVICE 2.2), escaped for JSON or HTML, percent-encoded, as Base64 or as
 * hexadecimal digits. For a secret of fewer than six characters the whole word is removed, because the rest of the
 * word would reveal it. It also decodes parts of the text, which takes time: it is for answers and single values.
 * For log lines, `KnownSecrets` masks any number of secrets in linear time.
 */
export function textMask(secrets: Iterable<string>, shown = '…'): (text: string) => string {
  const hidden = [...new Set(secrets)].filter((secret) => secret !== '')
  if (hidden.length === 0) return (text) => text
  const long = hidden.filter((secret) => secret.length >= SHORT)
  const short = hidden.filter((secret) => secret.length < SHORT)
  const maskLong = formMask(long)
  const maskShort = formMask(short)
  const inLowerCase = short.map((secret) => secret.toLowerCase())
  const decoded = hidden.map(bytesOf).filter((bytes) => bytes.length >= MIN_DECODED)
  const holdsShort = (word: string) => inLowerCase.some((secret) => word.toLowerCase().includes(secret))
  const holdsDecoded = (bytes: string) => decoded.some((secret) => bytes.toLowerCase().includes(secret))
  return (text) =>
    maskShort(maskLong(text).replace(/[\p{L}\p{N}]+/gu, (word) => (holdsShort(word) ? MARK : word)))
      .replace(/[\w+/-]{4,}/g, (run) => (decodingsOf(run).some(holdsDecoded) ? MARK : run))
      .replace(/[^\s"'<>]+/g, (word) =>
        /[%&\\]/.test(word) && holdsDecoded(bytesOf(unescaped(word))) ? MARK : word,
      )
      .replaceAll(MARK, shown)
}

/**
 * Masks each string of a JSON value separately, also the names of fields: a search in the JSON text would not find
 * what is escaped.
 */
export function maskedValue(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return mask(value)
  if (Array.isArray(value)) return value.map((each) => maskedValue(each, mask))
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, each]) => [mask(name), maskedValue(each, mask)])
    return Object.fromEntries(fields) as unknown
  }
  // A secret may consist of digits.
  if (typeof value !== 'number' || mask(`${value}`) === `${value}`) return value
  return mask(`${value}`)
}

function formMask(secrets: readonly string[]): (text: string) => string {
  if (secrets.length === 0) return (text) => text
  const forms = [...new Set(secrets.flatMap(formsOf))]
    // The longest first: one may be part of another.
    .sort((one, other) => other.length - one.length)
    // What a pattern matches without regard to case is the same in upper case. In lower case, µ and μ differ.
    .map((form) => ({ form, inUpperCase: form.toUpperCase() }))
  return (text) => {
    const inUpperCase = text.toUpperCase()
    // A pattern of all forms of two thousand secrets takes half a second to compile.
    const found = forms.filter((each) => inUpperCase.includes(each.inUpperCase))
    if (found.length === 0) return text
    const patterns = found.map(({ form }) => form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
    return text.replace(new RegExp(patterns.join('|'), 'gi'), MARK)
  }
}

function formsOf(secret: string): string[] {
  const inOtherCases = [secret.toLowerCase(), secret.toUpperCase()]
  return [...secretSpellings(secret), ...inOtherCases.map((each) => Buffer.from(each).toString('base64'))]
}

/** The UTF-8 bytes as a text with one character per byte, in lower case, because encodings work on bytes. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1').toLowerCase()
}

/**
 * The texts that a run of characters may encode as Base64 or hexadecimal digits. The start within the run is not
 * known.
 */
function decodingsOf(run: string): string[] {
  const base64 = [0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), 'base64').toString('latin1'))
  const hex = /^[\da-f]+$/i.test(run)
    ? [0, 1].map((start) => Buffer.from(run.slice(start), 'hex').toString('latin1'))
    : []
  return [...base64, ...hex]
}

/** Decodes percent-encoding, escapes of JSON and JavaScript, and numeric character references, also nested. */
function unescaped(word: string): string {
  let text = word
  for (let round = 0; round < 3; round++) {
    const before = text
    text = text
      .replace(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
      .replace(
        /\\u([\da-f]{4})|\\x([\da-f]{2})|&#x([\da-f]{1,6});/gi,
        (whole, ...digits: (string | undefined)[]) =>
          characterOf(
            Number.parseInt(
              digits.slice(0, 3).find((each) => each !== undefined)!,
              16,
            ),
            whole,
          ),
      )
      .replace(/&#(\d{1,7});/g, (whole, digits: string) => characterOf(Number(digits), whole))
      .replace(/\\(["'\\/])/g, '$1')
    if (text === before) break
  }
  return text
}

function characterOf(codePoint: number, otherwise: string): string {
  return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : otherwise
}
