import { LogThrottle } from '../../src/logging/log-throttle.js'

describe('LogThrottle', () => {
  beforeEach(() => jest.useFakeTimers())
  afterEach(() => jest.useRealTimers())

  function throttle(perSecond: number) {
    const reports: [string, number, number][] = []
    const made = new LogThrottle(perSecond, (...report) => reports.push(report))
    const admitted = (kind: string, times: number) =>
      Array.from({ length: times }, () => made.admits(kind)).filter(Boolean).length
    return { made, reports, admitted }
  }

  it('lets so many of each kind through in a second, and reports the rest once it is over', () => {
    const { reports, admitted } = throttle(3)
    expect(admitted('a', 10)).toBe(3)
    expect(admitted('b', 3)).toBe(3)
    expect(reports).toEqual([])
    jest.advanceTimersByTime(1_000)
    expect(reports).toEqual([['a', 7, expect.any(Number)]])
    expect(admitted('a', 4)).toBe(3)
    jest.advanceTimersByTime(1_000)
    expect(reports.slice(1)).toEqual([['a', 1, expect.any(Number)]])
  })

  it('has a longer window if it is given one', () => {
    const reports: unknown[] = []
    const made = new LogThrottle(1, (...report) => reports.push(report), 60_000)
    expect([made.admits('a'), made.admits('a'), made.admits('a')]).toEqual([true, false, false])
    jest.advanceTimersByTime(59_000)
    expect(reports).toEqual([])
    jest.advanceTimersByTime(1_000)
    expect(reports).toEqual([['a', 2, expect.any(Number)]])
  })

  it('reports at once when it is flushed, and then nothing more', () => {
    const { made, reports, admitted } = throttle(0)
    expect(admitted('a', 5)).toBe(0)
    expect(jest.getTimerCount()).toBe(1)
    made.flush()
    expect(reports).toEqual([['a', 5, expect.any(Number)]])
    made.flush()
    jest.advanceTimersByTime(5_000)
    expect(reports).toHaveLength(1)
  })

  it('has a timer only while there is something to report', () => {
    const { admitted } = throttle(3)
    admitted('a', 3)
    expect(jest.getTimerCount()).toBe(0)
    admitted('a', 2)
    expect(jest.getTimerCount()).toBe(1)
    jest.advanceTimersByTime(1_000)
    expect(jest.getTimerCount()).toBe(0)
  })
})
