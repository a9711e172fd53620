import { SearchLimit } from '../../src/diagnosis/search-limit.js'

function limitWith({ maxHmacs = 100, maxMs = 50 } = {}) {
  const used = { ms: 0 }
  const timer = { exceeds: (limitMs: number) => used.ms > limitMs }
  return { limit: new SearchLimit(maxHmacs, maxMs, timer), used }
}

test('ends after maxMs of processor time, and looks at it after every eighth HMAC', () => {
  const { limit, used } = limitWith()
  used.ms = 51
  const taken = Array.from({ length: 20 }, () => limit.take())
  expect(taken.filter(Boolean)).toHaveLength(8)
  expect(limit.stoppedBy).toBe('maxMs')
})

test('does not end while the time is not used, however long it takes', () => {
  const { limit, used } = limitWith()
  used.ms = 50
  expect(Array.from({ length: 100 }, () => limit.take())).not.toContain(false)
  expect(limit.stoppedBy).toBeUndefined()
  expect(limit.take()).toBe(false)
  expect(limit.stoppedBy).toBe('maxHmacs')
})

test('of a long list, half of the HMACs are for its beginning', () => {
  const { limit } = limitWith({ maxHmacs: 10 })
  expect(limit.halfOf([1, 2, 2], (hmacs) => hmacs)).toEqual([1, 2, 2])
  expect(limit.stoppedBy).toBeUndefined()
  expect(limit.halfOf([1, 2, 2, 1], (hmacs) => hmacs)).toEqual([1, 2, 2])
  expect(limit.halfOf([11, 1], (hmacs) => hmacs)).toEqual([11])
  expect([limit.stoppedBy, limit.isOver]).toEqual(['maxHmacs', false])
})

test('other forms of the body end after half of the time, and this is said', () => {
  const { limit, used } = limitWith()
  used.ms = 25
  expect(limit.isHalfOver()).toBe(false)
  used.ms = 26
  expect(limit.isHalfOver()).toBe(true)
  expect(limit.stoppedBy).toBe('maxMs')
  expect(limit.take()).toBe(true)
})
