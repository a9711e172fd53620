/** A JSON text as its tokens, which keeps the spelling of strings and numbers and the order of keys. */
export type JsonTokens = readonly string[]

/** How a program writes JSON: what stands after a colon, after a comma, and within brackets. */
export interface JsonLayout {
  readonly name: string
  readonly colon: string
  readonly comma: string
  /** The indentation of one level; undefined where everything is in one line. */
  readonly indent?: string
  readonly lineEnd?: string
}

export const JSON_LAYOUTS: readonly JsonLayout[] = [
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

// Strings, numbers and words; a bracket or separator; or white space, which is left out. No alternative overlaps another one,
// so that the time is linear.
const TOKEN = /"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/gs

/** The tokens of a valid JSON text; undefined for any other text. */
export function jsonTokens(text: string): JsonTokens | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  return text.replace(/^\s+|\s+$/g, '').match(TOKEN) ?? undefined
}

export function writeJson(tokens: JsonTokens, { colon, comma, indent, lineEnd = '\n' }: JsonLayout): string {
  if (indent === undefined) {
    return tokens.map((token) => (token === ':' ? colon : token === ',' ? comma : token)).join('')
  }
  // JSON that is nested deeply would grow with the square of its depth.
  const lineAt = (depth: number) => lineEnd + indent.repeat(Math.min(depth, MAX_INDENTED_DEPTH))
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

const MAX_INDENTED_DEPTH = 32

function isOpening(token: string | undefined): boolean {
  return token === '{' || token === '['
}

function isClosing(token: string | undefined): boolean {
  return token === '}' || token === ']'
}

/** How a program spells what is in strings, or numbers. */
export interface JsonSpelling {
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
