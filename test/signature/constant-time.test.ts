import { timingSafeEqual } from 'node:crypto'
import { genuine, verify } from './genuine.js'

jest.mock('node:crypto', () => {
  const crypto = jest.requireActual('node:crypto')
  return { ...crypto, timingSafeEqual: jest.fn(crypto.timingSafeEqual) }
})

beforeEach(() => jest.mocked(timingSafeEqual).mockClear())

test.each([
  ['the first of three secrets', [genuine.secret, 'a', 'b']],
  ['the last of three secrets', ['a', 'b', genuine.secret]],
  ['none of three secrets', ['a', 'b', 'c']],
])('with %s, each is compared, and in constant time', (_which, secret) => {
  expect(verify({ secret }).valid).toBe(secret.includes(genuine.secret))
  expect(timingSafeEqual).toHaveBeenCalledTimes(3)
  for (const [expected, received] of jest.mocked(timingSafeEqual).mock.calls)
    expect([expected.byteLength, received.byteLength]).toEqual([44, 44])
})
