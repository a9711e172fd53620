import { createHmac } from 'node:crypto'
import { isUuid } from '../../../base/uuid.js'

/** A text of the same shape, always the same for one text. */
export type Scramble = (text: string) => string

const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
// RFC 3339, also without seconds or zone. A text that only begins with a date may have a name after it.
const DATE = /^(\d{4})-\d\d-\d\d(?:([Tt ])\d\d:\d\d(:\d\d)?(\.\d{1,9})?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/

/**
 * Letters become other letters of the same case, and digits other digits. UUIDs stay UUIDs of their version, and dates stay
 * dates of their year. Without the seed, nobody can find out which text became which.
 */
export function scramblerOf(seed: string): Scramble {
  return (text) => {
    const next = numbersOf(seed, text)
    const hasUuidForm: boolean = isUuid(text)
    if (hasUuidForm) return scrambledUuid(text, next)
    const date = DATE.exec(text)
    if (date) return scrambledDate(date, next)
    return text.replace(/[\p{L}\p{N}]/gu, (character) => scrambledCharacter(character, next))
  }
}

/** The same JSON text with other values: keys, white space, literals and escapes are kept. */
export function scrambledJson(json: string, scramble: Scramble): string {
  return json.replace(TOKENS, (token, colon: string | undefined) => {
    if (colon !== undefined) return token
    if (!token.startsWith('"')) return scrambledNumber(token, scramble)
    const text = token.slice(1, -1)
    if (!text.includes('\\')) return `"${scramble(text)}"`
    // The parts between escapes. An escape is one character, so it becomes one.
    return `"${text.replace(/\\u[\da-fA-F]{4}|\\.|[^\\]+/g, (part) => scrambledPart(part, scramble))}"`
  })
}

function scrambledPart(part: string, scramble: Scramble): string {
  if (part.startsWith(String.raw`\u`)) return String.raw`\u0078`
  return part.startsWith('\\') ? part : scramble(part)
}

/** A number has no leading zero (RFC 8259, section 6), and its exponent is kept so that it stays in range. */
function scrambledNumber(number: string, scramble: Scramble): string {
  const [, digits = '', exponent = ''] = /^([^eE]*)(.*)$/.exec(number)!
  return (
    digits.replace(/^(-?)(\d)(.*)$/, (_all, sign: string, first: string, rest: string) => {
      const scrambled = scramble(first + rest)
      const isZero = first === '0'
      return sign + (isZero ? '0' : scrambled[0] === '0' ? '1' : scrambled[0]) + scrambled.slice(1)
    }) + exponent
  )
}

function scrambledUuid(uuid: string, next: Numbers): string {
  // Version and variant (RFC 9562, section 4) are kept.
  return Array.from(uuid)
    .map((digit, at) => {
      if (digit === '-' || at === 14 || at === 19) return digit
      const hex = next(16).toString(16)
      return /[A-F]/.test(uuid) ? hex.toUpperCase() : hex
    })
    .join('')
}

function scrambledDate(
  [, year, separator, seconds, fraction = '', zone = '']: RegExpExecArray,
  next: Numbers,
): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const day = `${year}-${two(1 + next(12))}-${two(1 + next(28))}`
  if (separator === undefined) return day
  const time = `${two(next(24))}:${two(next(60))}${seconds === undefined ? '' : `:${two(next(60))}`}`
  return day + separator + time + fraction.replace(/\d/g, () => String(next(10))) + zone
}

function scrambledCharacter(character: string, next: Numbers): string {
  if (/\p{N}/u.test(character)) return String(next(10))
  const letter = String.fromCharCode(97 + next(26))
  return /\p{Lu}/u.test(character) ? letter.toUpperCase() : letter
}

/** A number from 0, below the limit. */
type Numbers = (limit: number) => number

function numbersOf(seed: string, text: string): Numbers {
  // Each block is made of this key. If it was made of the text, the time would grow with the square of its length.
  const key = createHmac('sha256', seed).update(text).digest()
  let block = Buffer.alloc(0)
  let blocks = 0
  let at = 0
  return (limit) => {
    if (at + 2 > block.length) {
      block = createHmac('sha256', key).update(String(blocks++)).digest()
      at = 0
    }
    const number = block.readUInt16BE(at) % limit
    at += 2
    return number
  }
}
