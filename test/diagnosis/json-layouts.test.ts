import fc from 'fast-check'
import { jsonTokens, layoutsFor, writeJson } from '../../src/diagnosis/json-layouts.js'

const compact = { name: 'compact', colon: ':', comma: ',' }
const indented = { name: 'indented', colon: ': ', comma: ',', indent: '  ' }

test('writes what JSON.stringify writes, from any layout', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }),
      fc.constantFrom(undefined, 1, '\t'),
      (value, space) => {
        const tokens = jsonTokens(JSON.stringify(value, null, space))
        expect(tokens && writeJson(tokens, compact)).toBe(JSON.stringify(value))
        expect(tokens && writeJson(tokens, indented)).toBe(JSON.stringify(value, null, 2))
      },
    ),
  )
})

test('keeps the spelling of strings and numbers, and repeated keys', () => {
  const text = String.raw`{ "a" : 1.0, "a" : "\u0041\\\"" , "b":[ -1E2 , { } ] }`
  expect(writeJson(jsonTokens(text)!, compact)).toBe(String.raw`{"a":1.0,"a":"\u0041\\\"","b":[-1E2,{}]}`)
})

test.each(['', '{', '{"a":}', 'undefined', '[1,]', '"a'])('has no tokens of what is not JSON: %j', (text) => {
  expect(jsonTokens(text)).toBeUndefined()
})

test('reads a string of millions of escapes', () => {
  expect(jsonTokens(JSON.stringify('"'.repeat(4_000_000)))).toHaveLength(1)
})

test('does not indent what is nested so deeply that it would grow with the square of its depth', () => {
  const nested = (depth: number) => jsonTokens('['.repeat(depth) + ']'.repeat(depth))!
  expect(layoutsFor(nested(12)).some(({ indent }) => indent)).toBe(true)
  expect(layoutsFor(nested(13)).some(({ indent }) => indent)).toBe(false)
})
