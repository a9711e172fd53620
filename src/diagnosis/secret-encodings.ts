import type { Cause } from './causes.js'
import type { Alternative, Hypothesis } from './change.js'

/** Base64 of a secret, decoded or encoded once too often. The first hypotheses, as this is the mistake to expect. */
export const secretEncodings: readonly Hypothesis<Buffer>[] = [
  {
    cause: 'secret-is-base64',
    *alternatives(value) {
      const once = decodedBase64(value.toString('latin1'))
      if (!once) return
      yield { value: once, change: 'decoded from Base64' }
      // SERVICE 5.1: the key is the decoded text as UTF-8 bytes. Bytes that are not UTF-8 become U+FFFD there.
      yield { value: Buffer.from(once.toString('utf8')), change: 'decoded from Base64 to UTF-8 text' }
      yield {
        value: Buffer.from(once.toString('latin1')),
        change: 'decoded from Base64 to Latin-1 text',
        weight: 3,
      }
      const twice = decodedBase64(once.toString('latin1'))
      if (twice) yield { value: twice, change: 'decoded from Base64 twice', weight: 2 }
    },
  },
  {
    cause: 'secret-encoded-twice',
    *alternatives(value) {
      const encoded = value.toString('base64')
      yield { value: Buffer.from(encoded), change: 'encoded as Base64' }
      yield { value: Buffer.from(`${encoded}\n`), change: 'encoded as Base64, with a line end', weight: 2 }
      yield {
        value: Buffer.from(value.toString('base64url')),
        change: 'encoded as URL-safe Base64',
        weight: 2,
      }
      yield {
        value: Buffer.from(encoded.replace(/=+$/, '')),
        change: 'encoded as Base64 without padding',
        weight: 2,
      }
      yield {
        value: Buffer.from(Buffer.from(`${value.toString('latin1')}\n`, 'latin1').toString('base64')),
        change: 'with a line end, encoded as Base64',
        weight: 2,
      }
      yield {
        value: Buffer.from(encoded.replaceAll(/.{76}/g, '$&\n')),
        change: 'encoded as Base64 in lines of 76 characters',
        weight: 3,
      }
      yield {
        value: Buffer.from(Buffer.from(encoded).toString('base64')),
        change: 'encoded as Base64 twice',
        weight: 3,
      }
    },
  },
]

/** A hypothesis about the text of a secret. */
interface TextHypothesis {
  readonly cause: Cause
  alternatives(text: string): Iterable<Alternative<string | Buffer>>
}

/** Syntax of files and programs that became part of a secret, or was taken off it. */
export const secretSyntax: readonly TextHypothesis[] = [
  { cause: 'secret-quotes', alternatives: quotes },
  { cause: 'secret-hex-or-url-form', alternatives: otherForms },
]

function* quotes(text: string): Iterable<Alternative<string>> {
  const [first = '', last = ''] = [text[0], text.at(-1)]
  if (text.length > 2 && first === last && `"'\``.includes(first)) {
    yield { value: text.slice(1, -1), change: 'without the quotes around it' }
  }
  if (text.length > 1 && `"'\``.includes(last))
    yield { value: text.slice(0, -1), change: 'without the last quote', weight: 2 }
  if (text.length > 1 && `"'\``.includes(first))
    yield { value: text.slice(1), change: 'without the first quote', weight: 2 }
  yield { value: `"${text}"`, change: 'in double quotes' }
  yield { value: `'${text}'`, change: 'in single quotes' }
  if (text.includes('\\')) {
    yield { value: text.replaceAll(/\\(.)/g, '$1'), change: 'without backslashes' }
    const control: Record<string, string> = { n: '\n', r: '\r', t: '\t' }
    const read = text.replaceAll(/\\(.)/g, (_, letter: string) => control[letter] ?? letter)
    yield { value: read, change: 'with escapes such as \\n read' }
  }
  yield {
    value: text.replaceAll(/[\\"$`]/g, String.raw`\$&`),
    change: 'with backslashes before special characters',
    weight: 2,
  }
  yield { value: JSON.stringify(text).slice(1, -1), change: 'with escapes of JSON', weight: 2 }
  const assigned = /^(?:export\s+)?[A-Za-z_]\w*\s*[=:]\s*(.+)$/s.exec(text)?.[1]
  if (assigned !== undefined) {
    yield { value: assigned, change: 'without the name before =' }
    yield {
      value: assigned.replace(/^(["'])(.*)\1$/s, '$2'),
      change: 'without the name before = and the quotes',
      weight: 2,
    }
  }
}

function* otherForms(text: string): Iterable<Alternative<string | Buffer>> {
  if (text.includes('%')) yield* decodedPercent(text)
  if (text.includes('+'))
    yield { value: text.replaceAll('+', ' '), change: 'with spaces in place of +', weight: 2 }
  if (text.includes(' ')) yield { value: text.replaceAll(' ', '+'), change: 'with + in place of spaces' }
  if (text.length % 2 === 0 && /^[\da-f]+$/i.test(text)) {
    yield { value: Buffer.from(text, 'hex'), change: 'decoded from hexadecimal digits' }
  }
  const hex = Buffer.from(text).toString('hex')
  yield { value: hex, change: 'as hexadecimal digits' }
  yield { value: hex.toUpperCase(), change: 'as hexadecimal digits in upper case', weight: 2 }
  yield { value: encodeURIComponent(text.toWellFormed()), change: 'percent-encoded' }
  const form = new URLSearchParams({ secret: text }).toString().slice('secret='.length)
  yield { value: form, change: 'encoded as a form', weight: 2 }
  if (text.includes('&'))
    yield { value: readReferences(text), change: 'with character references of HTML read' }
  yield {
    value: text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;'),
    change: 'with character references of HTML',
    weight: 2,
  }
}

function* decodedPercent(text: string): Iterable<Alternative<string>> {
  try {
    yield { value: decodeURIComponent(text), change: 'with percent-encoding decoded' }
    yield { value: decodeURIComponent(text.replaceAll('+', ' ')), change: 'decoded from a form', weight: 2 }
  } catch {
    // A % that begins no code: the text is not percent-encoded.
  }
}

function readReferences(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll(/&#39;|&apos;/g, "'")
    .replaceAll('&amp;', '&')
}

/** The bytes that a text of either Base64 alphabet encodes, with or without padding and line ends. */
function decodedBase64(text: string): Buffer | undefined {
  const digits = text.replaceAll(/\s/g, '').replace(/={1,2}$/, '')
  if (digits.length < 2 || digits.length % 4 === 1 || !/^(?:[\w-]+|[A-Za-z\d+/]+)$/.test(digits))
    return undefined
  return Buffer.from(digits, 'base64')
}
