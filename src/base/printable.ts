// Control characters (C0, DEL, C1), formatting characters such as bidirectional overrides, and the two separators that
// some readers take for line ends.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const UNSAFE_BUT_LINE_END = /[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/gu
/** Also unassigned and private characters: JSON has an escape for them, so nothing is lost. */
const UNSAFE_IN_JSON = /[^\n\P{C}]|[\p{Zl}\p{Zp}]/gu

/**
 * Foreign text as one line, with control characters escaped: a terminal could execute them, or show them as a new
 * line.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped)
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text.replace(UNSAFE_BUT_LINE_END, escaped)
}

/** The text from which `printable()` made this one. Escapes that `printable()` does not write stay as they are. */
export function fromPrintable(text: string): string {
  return text.replace(/\\u\{([\da-f]{1,6})\}/g, (escape, digits: string) => {
    const codePoint = Number.parseInt(digits, 16)
    const character = codePoint <= 0x10_ff_ff ? String.fromCodePoint(codePoint) : ''
    return printable(character) === escape ? character : escape
  })
}

/** JSON with control characters escaped. It still has the same value when it is parsed. */
export function printableJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, escapedInJson)
}

/** A value as JSON in ASCII, in one line. It is the same value when it is parsed. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, escapedInJson)
}

/** JSON has an escape for each UTF-16 unit. */
function escapedInJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => String.raw`\u${unit.toString(16).padStart(4, '0')}`).join('')
}

function escaped(character: string): string {
  // Not with String.raw: terser, with which webpack minifies, cannot parse such a template.
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}
