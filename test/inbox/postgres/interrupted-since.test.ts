import { InterruptedSince } from '../../../src/inbox/postgres/interrupted-since.js'

const REQUEST = { eventTypes: ['a', 'b'], limit: 10, leaseMs: 60_000 }
const START = 1_000_000

/** What claims have looked through at these times, which found none. */
function since(...times: number[]): InterruptedSince {
  const looks = new InterruptedSince()
  for (const time of times) {
    looks.of(REQUEST, time)
    looks.foundNone(time)
  }
  return looks
}

describe('where a claim begins to look for interrupted entries', () => {
  it('is where the claim before has ended', () => {
    expect(new InterruptedSince().of(REQUEST, START)).toBe(0)
    expect(since(START).of(REQUEST, START)).toBe(START)
    expect(since(START, START + 5_000).of(REQUEST, START + 5_000)).toBe(START + 5_000)
  })

  it('is the start once in a tenth of a lease', () => {
    const looks = since(START, START + 5_999)
    expect(looks.of(REQUEST, START + 6_000)).toBe(0)
    looks.foundNone(START + 6_000)
    expect(looks.of(REQUEST, START + 11_999)).toBe(START + 6_000)
  })

  it('is the start for other types, and after a decision or a step of the clock', () => {
    expect(since(START).of({ ...REQUEST, eventTypes: ['a'] }, START)).toBe(0)
    expect(since(START).of({ ...REQUEST, eventTypes: 'any' }, START)).toBe(0)
    const looks = since(START)
    looks.startAgain()
    expect(looks.of(REQUEST, START)).toBe(0)
  })
})
