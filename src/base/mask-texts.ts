import { secretSpellings } from './secret-spellings.js'

const MARK = '\ufdd0' // A noncharacter of Unicode: in no secret and in no answer.
const SHORT = 6
/** Below this, any longer run of letters would by chance decode to something that holds the text. */
const MIN_DECODED = 4

/**
 * A function that leaves secrets out of a text, wherever they stand and in whatever form: in other letter cases, as the
 * client secret is "not case-sensitive" (SERVICE 2.2), escaped for JSON or HTML, percent-encoded, as Base64 or as
 * hexadecimal digits. A secret shorter than six characters takes the whole word with it, as what is left of the word would
 * give it away. It also decodes what the text holds, which takes time: it is for answers and single values. Log lines are
 * masked by `KnownSecrets`, which takes any number of secrets in linear time.
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

/** Each text of a JSON value by itself, the names of fields included: what an escape of JSON hides from a search is plain there. */
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
    .map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
  const pattern = new RegExp(forms.join('|'), 'gi')
  return (text) => text.replace(pattern, MARK)
}

function formsOf(secret: string): string[] {
  const inOtherCases = [secret.toLowerCase(), secret.toUpperCase()]
  return [...secretSpellings(secret), ...inOtherCases.map((each) => Buffer.from(each).toString('base64'))]
}

/** The UTF-8 bytes as a text of one character each, in one letter case: encodings are of bytes. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1').toLowerCase()
}

/** What a run may be the Base64 or the hexadecimal digits of. Where it begins within the run is not known. */
function decodingsOf(run: string): string[] {
  const base64 = [0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), 'base64').toString('latin1'))
  const hex = /^[\da-f]+$/i.test(run)
    ? [0, 1].map((start) => Buffer.from(run.slice(start), 'hex').toString('latin1'))
    : []
  return [...base64, ...hex]
}

/** Without percent-encoding, escapes of JSON and JavaScript, and numeric character references, one in the other too. */
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
