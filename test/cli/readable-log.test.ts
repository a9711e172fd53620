import { readableLine } from '../../src/cli/readable-log.js'
import { printable } from '../../src/base/printable.js'

const line = (fields: object) =>
  readableLine(`${JSON.stringify({ level: 'info', time: '2026-11-03T09:14:27.123Z', ...fields })}\n`)

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
    expect(readableLine('something else\n')).toBe('something else\n')
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
