import { runInNewContext } from 'node:vm'
import { callbackUrlProblem, signCallback, stringToSign, verifyCallback } from '../../src/signature/index.js'
import { formatHttpDate, parseHttpDate } from '../../src/signature/timestamp.js'
import { genuine, refused } from './genuine.js'

const FUNCTIONS = { formatHttpDate, signCallback, stringToSign } as Record<
  string,
  (argument?: unknown) => unknown
>

describe.each([
  ['no argument', undefined],
  ['null', null],
  ['a number', 5],
])('given %s', (_what, argument) => {
  test.each([
    ['formatHttpDate', 'ERR_TIMESTAMP_MALFORMED', /^The time must be a valid Date, but is /],
    ['signCallback', 'ERR_TIMESTAMP_MALFORMED', /^timestamp must be .* but is of type undefined\.$/],
    ['stringToSign', 'ERR_CALLBACK_URL_INVALID', /^callbackUrl must be .* but is undefined\.$/],
  ])('%s throws %s', (name, code, message) => {
    const call = () => FUNCTIONS[name]!(argument)
    expect(call).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
  })

  test('verifyCallback refuses', () => {
    expect(verifyCallback(argument as never)).toEqual(refused('ERR_AUTHORIZATION_MISSING'))
  })

  test('parseHttpDate finds no date', () => expect(parseHttpDate(argument as never)).toBeUndefined())

  test('callbackUrlProblem names a problem', () => {
    expect(callbackUrlProblem(argument)).toMatch(/^callbackUrl must be /)
  })
})

test('parseHttpDate finds no date in a symbol', () => {
  expect(parseHttpDate(Symbol(genuine.timestamp) as never)).toBeUndefined()
})

test('stringToSign refuses a timestamp that is no text', () => {
  const call = () => stringToSign({ ...genuine, timestamp: new Date() as never })
  expect(call).toThrow(expect.objectContaining({ code: 'ERR_TIMESTAMP_MALFORMED' }))
})

test('formatHttpDate refuses an invalid Date', () => {
  const message = 'The time must be a valid Date, but is an invalid one.'
  expect(() => formatHttpDate(new Date(NaN))).toThrow(
    expect.objectContaining({ code: 'ERR_TIMESTAMP_MALFORMED', message }),
  )
})

test('a Date of another realm is one', () => {
  const timestamp = runInNewContext(`new Date('2026-11-03T09:14:27Z')`) as Date
  expect(timestamp).not.toBeInstanceOf(Date)
  expect(signCallback({ ...genuine, timestamp })).toBe(genuine.authorization)
})
