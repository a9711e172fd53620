import vm from 'node:vm'
import { RetryLaterError } from '../../src/index.js'
import { askedDelayMs } from '../../src/handlers/retry-later.js'

const NOW = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000

it.each<[string, number | Date | undefined, number | undefined]>([
  ['milliseconds', 120_000, 120_000],
  ['a part of a millisecond', 0.2, 1],
  ['nothing', undefined, undefined],
  ['0', 0, 0],
  ['less than 0, such as until a limit that has been reset', -5, 0],
  ['a date', new Date(NOW + 90_000), 90_000],
  ['a date of another realm', vm.runInNewContext(`new Date(${NOW + 90_000})`) as Date, 90_000],
  ['a date in the past', new Date(NOW - 1), 0],
  ['a day', DAY_MS, DAY_MS],
  ['more than a day', DAY_MS + 1, DAY_MS],
  ['a date in a year', new Date(NOW + 365 * DAY_MS), DAY_MS],
  ['infinity', Infinity, DAY_MS],
  ['minus infinity', -Infinity, 0],
])('an error that asks for %s', (_what, retryAfterMs, delayMs) => {
  const error = new RetryLaterError('away', { retryAfterMs })
  expect(error.retryAfterMs).toBe(retryAfterMs)
  expect('retryAfterMs' in error).toBe(retryAfterMs !== undefined)
  expect(askedDelayMs(error, NOW)).toBe(delayMs)
})

it.each<[string, unknown, string]>([
  ['NaN', NaN, 'NaN'],
  ['a text', '120', '"120"'],
  ['an invalid date', new Date('soon'), 'of type object'],
  ['null', null, 'null'],
])('%s is refused where it is given, and ignored in an error of other code', (_what, retryAfterMs, shown) => {
  expect(() => new RetryLaterError('away', { retryAfterMs: retryAfterMs as number })).toThrow(
    `new RetryLaterError: retryAfterMs is ${shown}: pass milliseconds from now, or a Date.`,
  )
  expect(askedDelayMs({ code: 'ERR_RETRY_LATER', retryAfterMs }, NOW)).toBeUndefined()
})

it('only an error with the code of RetryLaterError asks for a delay', () => {
  expect(askedDelayMs({ code: 'ERR_RETRY_LATER', retryAfterMs: 5 }, NOW)).toBe(5)
  expect(askedDelayMs(Object.assign(new Error('x'), { retryAfterMs: 5 }), NOW)).toBeUndefined()
})

it('an error keeps its cause', () => {
  const cause = new Error('ECONNREFUSED')
  expect(new RetryLaterError('away', { cause, retryAfterMs: 5 }).cause).toBe(cause)
})
