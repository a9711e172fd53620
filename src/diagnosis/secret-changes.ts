import type { Alternative, Hypothesis, Weight } from './change.js'
import { secretEncodings, secretSyntax } from './secret-encodings.js'

/** Secrets that are not those of the subscription, as bytes. */
interface OtherSecrets {
  readonly ofOtherSubscriptions: readonly Buffer[]
  readonly previous: readonly Buffer[]
}

/** The lengths that fields and programs cut a secret to. */
const CUT_LENGTHS = [8, 16, 20, 24, 32, 40, 48, 50, 64, 72, 100, 128, 200, 255, 256]

/** The mistakes that give another HMAC key. Every key is at least one byte: anybody can sign with an empty one. */
export function secretHypotheses(others: OtherSecrets): readonly Hypothesis<Buffer>[] {
  const given = others.previous.map((value, previousSecret) => ({ value, previousSecret }))
  const hypotheses: readonly Hypothesis<Buffer>[] = [
    ...secretEncodings,
    ofText('secret-white-space', whiteSpace),
    ...secretSyntax.map(({ cause, alternatives }) => ofText(cause, alternatives)),
    {
      cause: 'secret-of-other-subscription',
      isSlow: true,
      alternatives: () => others.ofOtherSubscriptions.map((value) => ({ value, change: 'another secret' })),
    },
    {
      cause: 'secret-truncated',
      // A given secret of which the configured one is the beginning. Before the next hypothesis, which has it too.
      alternatives: (value) =>
        given
          .filter((each) => each.value.length > value.length && startsWith(each.value, value))
          .map((each) => ({ ...each, change: 'the configured secret is only its beginning' })),
    },
    {
      cause: 'secret-case',
      // A secret that was changed to upper case cannot be restored. So it is compared with the other secrets.
      alternatives: (value) =>
        given
          .filter((each) => lowerCase(each.value) === lowerCase(value))
          .map((each) => ({ ...each, change: 'a given secret that differs in its letter case' })),
    },
    {
      cause: 'secret-of-previous-rotation',
      alternatives: () => given.map((each) => ({ ...each, change: 'a secret that was given to be tried' })),
    },
    ofText('secret-case', letterCase),
    ofText('secret-truncated', truncated),
    ofText('secret-unicode-form', unicodeForms),
  ]
  return hypotheses.map(({ alternatives, ...hypothesis }) => ({
    ...hypothesis,
    *alternatives(value: Buffer) {
      for (const each of alternatives(value)) if (each.value.length > 0) yield each
    },
  }))
}

function startsWith(secret: Buffer, beginning: Buffer): boolean {
  return secret.subarray(0, beginning.length).equals(beginning)
}

function lowerCase(secret: Buffer): string {
  return secret.toString('utf8').toLowerCase()
}

/** A hypothesis about text. Bytes that are not UTF-8 have no such alternatives. */
function ofText(
  cause: Hypothesis<Buffer>['cause'],
  alternatives: (text: string) => Iterable<Alternative<string | Buffer>>,
): Hypothesis<Buffer> {
  return {
    cause,
    *alternatives(value) {
      const text = value.toString('utf8')
      if (!Buffer.from(text).equals(value)) return
      for (const each of alternatives(text)) {
        yield { ...each, value: typeof each.value === 'string' ? Buffer.from(each.value) : each.value }
      }
    },
  }
}

/** What editors, shells and clipboards add, and what `trim` does not know. */
const INVISIBLE = /^[\s\0\u200b-\u200d\u2060\ufeff]+|[\s\0\u200b-\u200d\u2060\ufeff]+$/g

function* whiteSpace(text: string): Iterable<Alternative<string>> {
  yield { value: text.replace(/\r?\n$/, ''), change: 'without the line end' }
  yield { value: text.replace(INVISIBLE, ''), change: 'without the white space around it' }
  yield { value: `${text}\n`, change: 'with a line feed at its end' }
  yield { value: `${text}\r\n`, change: 'with CR LF at its end' }
  yield { value: text.replace(/^\ufeff/, ''), change: 'without the byte order mark' }
  yield { value: text.replace(/[ \t]+$/, ''), change: 'without the spaces at its end', weight: 2 }
  yield { value: text.replace(/^[ \t]+/, ''), change: 'without the spaces at its beginning', weight: 2 }
  yield {
    value: text.replaceAll(/[\s\u200b-\u200d\u2060\ufeff]/g, ''),
    change: 'without any white space',
    weight: 2,
  }
  yield { value: text.replaceAll('\r\n', '\n'), change: 'with LF in place of CR LF', weight: 2 }
  yield { value: `${text} `, change: 'with a space at its end', weight: 2 }
  yield { value: ` ${text}`, change: 'with a space at its beginning', weight: 2 }
  yield { value: `${text}\r`, change: 'with a carriage return at its end', weight: 2 }
  yield { value: `\ufeff${text}`, change: 'with a byte order mark', weight: 2 }
  yield { value: text.replaceAll('\u00a0', ' '), change: 'with plain spaces', weight: 2 }
  yield { value: `${text}\t`, change: 'with a tab at its end', weight: 3 }
  yield { value: `${text}\n\n`, change: 'with two line feeds at its end', weight: 3 }
  yield { value: `${text}\0`, change: 'with a zero byte at its end', weight: 3 }
}

function* letterCase(text: string): Iterable<Alternative<string>> {
  yield { value: text.toLowerCase(), change: 'in lower case' }
  yield { value: text.toUpperCase(), change: 'in upper case' }
  yield {
    value: text.slice(0, 1).toUpperCase() + text.slice(1),
    change: 'with a capital first letter',
    weight: 3,
  }
  const swapped = text.replaceAll(/[a-z]+|[A-Z]+/g, (run) =>
    run === run.toLowerCase() ? run.toUpperCase() : run.toLowerCase(),
  )
  yield { value: swapped, change: 'with Caps Lock on', weight: 3 }
}

function* truncated(text: string): Iterable<Alternative<string>> {
  const upTo = (end: number, change: string, weight: Weight = 1) => ({
    value: text.slice(0, end),
    change,
    weight,
  })
  const comment = text.indexOf('#')
  if (comment > 0) {
    yield upTo(comment, 'up to the first #')
    yield { value: text.slice(0, comment).trimEnd(), change: 'up to the first #, without white space' }
  }
  if (text.includes('$')) {
    yield { value: text.replaceAll(/\$(?:\w+|\{[^}]*\})/g, ''), change: 'with $NAME expanded to nothing' }
    yield { value: text.replaceAll('$$', '$'), change: 'with $ in place of $$' }
    yield { value: text.replaceAll('$', '$$$$'), change: 'with $$ in place of $', weight: 2 }
    // A shell takes one digit after $ for a positional parameter, and $$ for its process id.
    yield { value: text.replaceAll(/\$\d/g, ''), change: 'with $ and a digit expanded to nothing', weight: 2 }
    yield upTo(text.indexOf('$'), 'up to the first $', 2)
  }
  for (const [mark, name] of [
    [' ', 'space'],
    ['\n', 'line end'],
    [';', ';'],
    ['&', '&'],
    ['=', '='],
    ['+', '+'],
    ['%', '%'],
    ['\\', 'backslash'],
    ['"', 'quote'],
    ['\0', 'zero byte'],
  ] as const) {
    const at = text.indexOf(mark)
    if (at > 0) yield upTo(at, `up to the first ${name}`, 2)
  }
  if (text.length > 1) {
    yield upTo(text.length - 1, 'without the last character', 3)
    yield { value: text.slice(1), change: 'without the first character', weight: 3 }
  }
  for (const length of CUT_LENGTHS) {
    if (length < text.length) yield upTo(length, 'cut to the length of a field', 3)
  }
}

function* unicodeForms(text: string): Iterable<Alternative<string | Buffer>> {
  for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'] as const) {
    yield { value: text.normalize(form), change: `in Unicode form ${form}` }
  }
  // In ASCII these are the same bytes, and `variants` leaves out what was tried before.
  const latin1 = Buffer.from(text, 'latin1')
  if (latin1.toString('latin1') === text) {
    yield { value: latin1, change: 'as bytes of Latin-1' }
    const read = latin1.toString('utf8')
    if (!read.includes('\ufffd'))
      yield { value: read, change: 'with UTF-8 that was read as Latin-1 repaired' }
  }
  yield { value: Buffer.from(text).toString('latin1'), change: 'with UTF-8 read as Latin-1' }
  yield { value: text.replaceAll(/[^\0-\x7f]/g, '?'), change: 'with ? for what is not ASCII', weight: 2 }
  yield {
    value: text.replaceAll(/[^\0-\x7f]/gu, '\ufffd'),
    change: 'with U+FFFD for what is not ASCII',
    weight: 3,
  }
  yield { value: Buffer.from(text, 'utf16le'), change: 'as bytes of UTF-16', weight: 3 }
  yield { value: `\ufeff${text}`, change: 'with a byte order mark', weight: 3 }
  yield { value: plainPunctuation(text), change: 'with plain quotes and dashes', weight: 2 }
}

/** Word processors and chats replace quotes and hyphens. */
function plainPunctuation(text: string): string {
  return text
    .replaceAll(/[\u2018\u2019]/g, "'")
    .replaceAll(/[\u201c\u201d]/g, '"')
    .replaceAll(/[\u2010-\u2015]/g, '-')
    .replaceAll('\u2026', '...')
}
