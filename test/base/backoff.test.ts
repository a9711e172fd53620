import fc from 'fast-check'
import { backoff } from '../../src/base/backoff.js'

const delays = fc.record({
  retryDelayMs: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  maxRetryDelayMs: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
})
const attempts = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
/** The largest chance there is gives the whole delay, as near as a number can say. */
const whole = () => 1 - 2 ** -53

describe('backoff', () => {
  it('is a whole number of milliseconds between half a delay and all of it, for whatever attempt', () => {
    fc.assert(
      fc.property(delays, attempts, chance, (options, attempt, random) => {
        const all = Math.min(options.retryDelayMs * 2 ** (attempt - 1), options.maxRetryDelayMs)
        const delay = backoff(attempt, options, () => random)
        expect(Number.isSafeInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(all / 2)
        expect(delay).toBeLessThanOrEqual(all)
      }),
    )
  })

  it('doubles from one attempt to the next until it is as long as it may be', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 20 }), (first, attempt) => {
        const options = { retryDelayMs: first, maxRetryDelayMs: 2 ** 31 - 1 }
        expect(backoff(1, options, whole)).toBe(first)
        expect(backoff(attempt + 1, options, whole)).toBe(2 * backoff(attempt, options, whole))
      }),
    )
  })

  it.each([12, 13, 1_024, 1_025, Number.MAX_SAFE_INTEGER])(
    'is no longer than it may be at attempt %d',
    (n) => {
      const options = { retryDelayMs: 1_000, maxRetryDelayMs: 1_000_000 }
      expect(backoff(n, options, whole)).toBe(1_000_000)
      expect(backoff(n, options, () => 0)).toBe(500_000)
    },
  )

  it('never shrinks with the number of attempts', () => {
    fc.assert(
      fc.property(delays, attempts, chance, (options, attempt, random) => {
        const next = backoff(attempt + 1, options, () => random)
        expect(next).toBeGreaterThanOrEqual(backoff(attempt, options, () => random))
      }),
    )
  })

  it('sends what failed together back at different times', () => {
    const options = { retryDelayMs: 60_000, maxRetryDelayMs: 60_000 }
    const times = new Set(Array.from({ length: 1_000 }, () => backoff(1, options, Math.random)))
    expect(times.size).toBeGreaterThan(900)
  })
})
