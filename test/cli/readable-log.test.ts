import { readableLine, type ReadableOptions } from '../../src/cli/readable-log.js'
import { printable } from '../../src/base/printable.js'

const line = (fields: object, options: Partial<ReadableOptions> = {}) =>
  readableLine(`${JSON.stringify({ level: 'info', time: '2026-11-03T09:14:27.123Z', ...fields })}\n`, {
    verbose: false,
    colours: false,
    ...options,
  })

describe('readableLine', () => {
  it('begins with time, level and message', () => {
    expect(line({ msg: 'listening' })).toBe('09:14:27.123 INFO  listening\n')
  })

  it('appends the other fields, quoted where they would be ambiguous', () => {
    const fields = { msg: 'm', plain: 'a-b', spaced: 'a b', equals: 'a=b', number: 7, object: { a: [1] } }
    expect(line(fields)).toBe(
      '09:14:27.123 INFO  m plain=a-b spaced="a b" equals="a=b" number=7 object={"a":[1]}\n',
    )
  })

  it('says of an error what it is, where it was thrown, and what caused it', () => {
    const err = {
      name: 'Error',
      message: 'no',
      stack: 'Error: no\n    at settle (a.mjs:1:2)\n    at b',
      cause: { name: 'TypeError', message: 'why' },
    }
    expect(line({ msg: 'm', err })).toBe(
      '09:14:27.123 INFO  m err="Error: no at settle (a.mjs:1:2)" cause="TypeError: why"\n',
    )
  })

  it('is one line, whatever is in the record', () => {
    const err = { name: 'Error\n', message: 'two\nlines', stack: 'Error\n    at x' }
    const text = line({ msg: 'first\nsecond\r', 'a\nb': 'c\nd', list: ['\u2028'], err })
    expect(text.trimEnd().split(/[\n\r\u2028]/)).toHaveLength(1)
  })

  it('leaves alone what is no record', () => {
    expect(readableLine('something else\n', { verbose: false, colours: true })).toBe('something else\n')
  })

  const KEY = '6ba7b810-9dad-41d1-80b4-00c04fd430c8'
  const CALLBACK = {
    msg: 'callback stored',
    outcome: 'stored',
    status: 200,
    code: 'STORED',
    reason: 'it is durable',
    verified: true,
    idempotencyKey: KEY,
    eventType: 'a.b',
    durationMs: 12.926,
    subscription: { eventTypeName: 'a.b', callbackUrl: 'https://a.example/' },
  }

  it('has of a callback what a person looks for', () => {
    expect(line(CALLBACK)).toBe(`09:14:27.123 INFO  callback stored a.b 13 ms ${KEY}\n`)
    expect(line({ ...CALLBACK, subscription: { id: 'tenant 1' } })).toContain(
      ' a.b subscription="tenant 1" 13 ms ',
    )
    const refused = {
      msg: 'callback refused',
      outcome: 'refused',
      status: 401,
      code: 'ERR_SIGNATURE_MISMATCH',
    }
    expect(line({ ...CALLBACK, ...refused, verified: false, reason: 'r' })).toBe(
      `09:14:27.123 INFO  callback refused a.b status=401 code=ERR_SIGNATURE_MISMATCH reason=r 13 ms ${KEY}\n`,
    )
  })

  it('has of the end of an entry what a person looks for', () => {
    const entry = {
      msg: 'entry handled',
      entryId: '17',
      idempotencyKey: KEY,
      eventType: 'a.b',
      move: 'complete',
    }
    expect(line({ ...entry, attempt: 1, durationMs: 6 })).toBe(
      `09:14:27.123 INFO  entry handled a.b entry 17 6 ms ${KEY}\n`,
    )
    expect(line({ ...entry, attempt: 2, durationMs: 6, delayMs: 70 })).toContain(
      ' entry 17 attempt 2 delayMs=70 6 ms ',
    )
  })

  it('has everything that a handler logs', () => {
    const logged = {
      msg: 'booked',
      eventType: 'a.b',
      status: 'x',
      reason: 'y',
      durationMs: 3,
      move: undefined,
    }
    expect(line(logged)).toBe('09:14:27.123 INFO  booked a.b status=x reason=y durationMs=3\n')
  })

  it('quotes a type that could be taken for other fields, as the sender may choose it', () => {
    expect(line({ ...CALLBACK, eventType: 'a err=b' })).toContain(' "a err=b" 13 ms')
  })

  it('has all fields if asked', () => {
    expect(line(CALLBACK, { verbose: true })).toMatch(
      /callback stored outcome=stored status=200 code=STORED reason="it is durable" verified=true .*durationMs=12\.926/,
    )
  })

  it.each([
    ['error', 31],
    ['warn', 33],
    ['info', 32],
    ['debug', 90],
  ])('colours %s, and nothing else', (level, code) => {
    const shown = `\u001b[${code}m${level.toUpperCase().padEnd(5)}\u001b[39m`
    expect(line({ msg: '\u001b[31mred', level }, { colours: true })).toBe(
      `09:14:27.123 ${shown} \\u{1b}[31mred\n`,
    )
  })
})

describe('printable', () => {
  it.each([
    ['an escape sequence', '\x1b[31m', String.raw`\u{1b}[31m`],
    ['a control character beyond ASCII', '\x9b31m', String.raw`\u{9b}31m`],
    ['a change of writing direction', 'a\u202eb', String.raw`a\u{202e}b`],
  ])('shows %s instead of writing it', (_what, text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  it('leaves letters of every script alone', () => {
    expect(printable('Überweisung 転送 ✓')).toBe('Überweisung 転送 ✓')
  })
})
