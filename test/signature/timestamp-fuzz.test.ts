import fc from 'fast-check'
import { formatHttpDate, parseHttpDate } from '../../src/signature/timestamp.js'
import { instants, timestamps } from './http-date-arbitraries.js'
import { readHttpDate, spellings } from './http-date-oracle.js'
import { anyText } from '../support/any-text.js'
import { randomRuns } from '../support/random-runs.js'

describe('an HTTP date', () => {
  test('is written as toUTCString writes it, and read back to the second', () => {
    const milliseconds = fc.tuple(instants, fc.nat(999)).map(([ms, fraction]) => ms + fraction)
    fc.assert(
      fc.property(milliseconds, (ms) => {
        expect(formatHttpDate(new Date(ms))).toBe(new Date(ms).toUTCString())
        expect(parseHttpDate(formatHttpDate(new Date(ms)))).toBe(Math.floor(ms / 1000) * 1000)
      }),
      { numRuns: randomRuns(1000) },
    )
  })

  test('is read in every form', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        const texts = spellings(ms)
        expect(texts.map(parseHttpDate)).toEqual(texts.map(() => ms))
      }),
      { numRuns: randomRuns(1000) },
    )
  })

  test('is read with a leap second as the second after it', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        const minute = Math.floor(ms / 60_000) * 60_000
        const texts = spellings(minute + 59_000).map((text) => text.replace(/:59(?= )/, ':60'))
        expect(texts.map(parseHttpDate)).toEqual(texts.map(() => minute + 60_000))
      }),
    )
  })

  test('one mutation away from a valid one is refused, or read as the oracle reads it', () => {
    fc.assert(
      fc.property(
        timestamps,
        fc.nat(),
        fc.constantFrom('replace', 'insert', 'delete', 'swap'),
        mutationText,
        (text, at, kind, by) => {
          const mutant = mutated(text, at, kind, by)
          expect(parseHttpDate(mutant)).toBe(readHttpDate(mutant))
        },
      ),
      { numRuns: randomRuns(5000) },
    )
  })

  test('with any of its numbers or names replaced is refused, or read as the oracle reads it', () => {
    const name = fc.constantFrom(...'Sun Mon Tue Wed Thu Fri Sat Sunday Jan Feb Apr Dec'.split(' '))
    const number = fc
      .tuple(fc.nat(61), fc.integer({ min: 1, max: 4 }))
      .map(([n, width]) => `${n}`.padStart(width, '0'))
    fc.assert(
      fc.property(timestamps, fc.nat(), fc.oneof(name, number), (text, at, by) => {
        const parts = text.split(/(?<![A-Za-z0-9])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?![A-Za-z0-9])/)
        const words = parts.flatMap((part, index) => (/\w/.test(part) ? [index] : []))
        const mutant = parts.with(words[at % words.length] as number, by).join('')
        expect(parseHttpDate(mutant)).toBe(readHttpDate(mutant))
      }),
      { numRuns: randomRuns(5000) },
    )
  })

  test('is none, whatever the text, where the oracle knows none', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(parseHttpDate(text)).toBe(readHttpDate(text))
      }),
    )
  })
})

const mutationText = fc.oneof(
  fc.constantFrom(...'0123456789 ,:-GMTadenurs\t\n\0'.split('')),
  anyText({ minLength: 1, maxLength: 1 }),
)

function mutated(text: string, position: number, kind: string, by: string): string {
  const at = position % text.length
  const [front, rest] = [text.slice(0, at), text.slice(at)]
  if (kind === 'insert') return front + by + rest
  if (kind === 'delete') return front + rest.slice(1)
  if (kind === 'swap') return front + rest.slice(1, 2) + rest.slice(0, 1) + rest.slice(2)
  return front + by + rest.slice(1)
}
