/** A JSON text as its tokens, which keeps the spelling of strings and numbers and the order of keys. */
export type JsonTokens = readonly string[]

/** How a program writes JSON: the white space after a colon, after a comma, and within brackets. */
interface JsonLayout {
  readonly name: string
  readonly colon: string
  readonly comma: string
  /** The indentation of one level; undefined if everything is in one line. */
  readonly indent?: string
  readonly lineEnd?: string
}

const JSON_LAYOUTS: readonly JsonLayout[] = [
  { name: 'without spaces', colon: ':', comma: ',' },
  { name: 'with spaces after colons and commas', colon: ': ', comma: ', ' },
  { name: 'indented by 2 spaces', colon: ': ', comma: ',', indent: '  ' },
  { name: 'indented by 4 spaces', colon: ': ', comma: ',', indent: '    ' },
  { name: 'indented by a tab', colon: ': ', comma: ',', indent: '\t' },
  { name: 'indented, with spaces around colons', colon: ' : ', comma: ',', indent: '  ' },
  { name: 'indented by 2 spaces, with CR LF', colon: ': ', comma: ',', indent: '  ', lineEnd: '\r\n' },
  { name: 'with spaces after colons', colon: ': ', comma: ',' },
  { name: 'with spaces after commas', colon: ':', comma: ', ' },
]

/** The tokens of a valid JSON text; undefined for any other text. */
export function jsonTokens(text: string): JsonTokens | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  // Not one regular expression: strings of many megabytes with escapes exceed its stack.
  const tokens: string[] = []
  for (let at = 0; at < text.length;) {
    const character = text[at]!
    const end = character === '"' ? endOfString(text, at) : endOfToken(text, at)
    if (end > at) tokens.push(text.slice(at, end))
    // White space is not a token.
    at = Math.max(end, at + 1)
  }
  return tokens
}

/** Linear: each backslash is read once. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at)
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
}

function endOfToken(text: string, start: number): number {
  if ('{}[],:'.includes(text[start]!)) return start + 1
  let end = start
  while (end < text.length && !' \t\r\n{}[],:'.includes(text[end]!)) end++
  return end
}

export function writeJson(tokens: JsonTokens, { colon, comma, indent, lineEnd = '\n' }: JsonLayout): string {
  if (indent === undefined) {
    return tokens.map((token) => (token === ':' ? colon : token === ',' ? comma : token)).join('')
  }
  const lineAt = (depth: number) => lineEnd + indent.repeat(depth)
  let depth = 0
  return tokens
    .map((token, index) => {
      const isEmpty = (token === '}' || token === ']') && isOpening(tokens[index - 1])
      if (token === ':') return colon
      if (token === ',') return comma + lineAt(depth)
      if (isOpening(token)) {
        depth++
        return isClosing(tokens[index + 1]) ? token : token + lineAt(depth)
      }
      if (!isClosing(token)) return token
      depth--
      return isEmpty ? token : lineAt(depth) + token
    })
    .join('')
}

/** JSON that is nested deeply would grow with the square of its depth when it is indented. */
const MAX_INDENTED_DEPTH = 12

/** The layouts that can be tried in time proportional to the text. */
export function layoutsFor(tokens: JsonTokens): readonly JsonLayout[] {
  let depth = 0
  for (const token of tokens) {
    depth += isOpening(token) ? 1 : isClosing(token) ? -1 : 0
    if (depth > MAX_INDENTED_DEPTH) return JSON_LAYOUTS.filter(({ indent }) => indent === undefined)
  }
  return JSON_LAYOUTS
}

function isOpening(token: string | undefined): boolean {
  return token === '{' || token === '['
}

function isClosing(token: string | undefined): boolean {
  return token === '}' || token === ']'
}

/** How a program spells what is in strings, or numbers. */
interface JsonSpelling {
  readonly name: string
  readonly token: (token: string) => string
}

export const JSON_SPELLINGS: readonly JsonSpelling[] = [
  { name: 'with ASCII escapes', token: ofStrings((text) => toAscii(text, false)) },
  { name: 'with characters in place of escapes', token: ofStrings(withoutEscapes) },
  { name: 'with escaped slashes', token: ofStrings((text) => text.replaceAll(/(?<!\\)\//g, String.raw`\/`)) },
  {
    name: 'with escaped slashes and ASCII escapes',
    token: ofStrings((text) => toAscii(text.replaceAll(/(?<!\\)\//g, String.raw`\/`), false)),
  },
  { name: 'without escaped slashes', token: ofStrings((text) => text.replaceAll(String.raw`\/`, '/')) },
  {
    name: 'with escapes of <, > and &',
    token: ofStrings((text) => text.replaceAll(/[<>&]/g, (each) => unicodeEscape(each, false))),
  },
  { name: 'with ASCII escapes in upper case', token: ofStrings((text) => toAscii(text, true)) },
  {
    name: 'with escapes of characters that HTML reserves',
    token: ofStrings((text) =>
      toAscii(text, true)
        .replaceAll(/[<>&'+`]/g, (each) => unicodeEscape(each, true))
        .replaceAll(String.raw`\"`, String.raw`\u0022`),
    ),
  },
  { name: 'with whole numbers as decimals', token: ofNumbers((text) => text.replace(/^-?\d+$/, '$&.0')) },
  {
    name: 'with two decimals',
    token: ofNumbers((text) => (/^-?\d+\.\d+$/.test(text) ? Number(text).toFixed(2) : text)),
  },
  {
    name: 'with two decimals in every number',
    token: ofNumbers((text) => (/^-?\d+(?:\.\d+)?$/.test(text) ? Number(text).toFixed(2) : text)),
  },
  {
    name: 'with numbers as JavaScript writes them',
    token: ofNumbers((text) => JSON.stringify(Number(text))),
  },
  { name: 'with exponents in upper case', token: ofNumbers((text) => text.toUpperCase()) },
]

function ofStrings(change: (text: string) => string): (token: string) => string {
  return (token) => (token.startsWith('"') ? change(token) : token)
}

function ofNumbers(change: (text: string) => string): (token: string) => string {
  return (token) => (/^[-\d]/.test(token) ? change(token) : token)
}

function toAscii(text: string, inUpperCase: boolean): string {
  return text.replaceAll(/[^\0-\x7e]/g, (unit) => unicodeEscape(unit, inUpperCase))
}

function unicodeEscape(unit: string, inUpperCase: boolean): string {
  const digits = unit.charCodeAt(0).toString(16).padStart(4, '0')
  return String.raw`\u` + (inUpperCase ? digits.toUpperCase() : digits)
}

/** As JSON.stringify spells the same string. */
function withoutEscapes(token: string): string {
  return token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token
}
