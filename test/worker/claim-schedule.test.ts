import { ClaimSchedule } from '../../src/worker/claim-schedule.js'

const ALL = { entries: [], interruptedIsDue: false }

/** A schedule that has claimed once, and nothing waits. */
function idleSchedule(): ClaimSchedule {
  const schedule = new ClaimSchedule()
  schedule.claimed(schedule.next(0, 10, true)!, ALL, true)
  schedule.taken()
  return schedule
}

describe('what is claimed', () => {
  it('is at first, and when others may be due, what there are slots for', () => {
    const schedule = new ClaimSchedule()
    expect(schedule.next(3, 10, true)).toEqual({ limit: 7, interrupted: false })
    const idle = idleSchedule()
    idle.stored()
    idle.othersMayBeDue()
    expect(idle.next(3, 10, true)).toEqual({ limit: 7, interrupted: false })
  })

  it('is what waits and one more, as the inbox then says whether these are all', () => {
    const limitBeside = (running: number) => {
      const schedule = idleSchedule()
      for (let count = 0; count < 2; count++) schedule.stored()
      return schedule.next(running, 10, true)?.limit
    }
    expect([3, 8, 10].map(limitBeside)).toEqual([3, 2, undefined])
  })

  it('is what there are slots for if nothing is to be left for arrivals', () => {
    const schedule = idleSchedule()
    schedule.stored()
    expect(schedule.next(3, 10, false)).toEqual({ limit: 7, interrupted: false })
  })
})

describe('an arrival has room', () => {
  it('beside those that run, that wait and that a claim may take', () => {
    const schedule = idleSchedule()
    expect([9, 10].map((running) => schedule.hasRoom(running, 0, 10))).toEqual([true, false])
    for (let count = 0; count < 3; count++) schedule.stored()
    expect([6, 7].map((running) => schedule.hasRoom(running, 0, 10))).toEqual([true, false])
    const plan = schedule.next(0, 10, true)!
    expect(plan.limit).toBe(4)
    expect([5, 6].map((running) => schedule.hasRoom(running, 0, 10))).toEqual([true, false])
    schedule.stored()
    expect([4, 5].map((running) => schedule.hasRoom(running, 0, 10))).toEqual([true, false])
    schedule.claimed(plan, ALL, true)
    // Until the entries are running.
    expect([4, 5].map((running) => schedule.hasRoom(running, 0, 10))).toEqual([true, false])
    schedule.taken()
    expect([8, 9].map((running) => schedule.hasRoom(running, 0, 10))).toEqual([true, false])
  })

  it('beside those that have ended, unless others wait', () => {
    const schedule = idleSchedule()
    expect([12, 13].map((running) => schedule.hasRoom(running, 3, 10))).toEqual([true, false])
    expect([19, 20].map((running) => schedule.hasRoom(running, 20, 10))).toEqual([true, false])
    schedule.stored()
    expect([8, 9].map((running) => schedule.hasRoom(running, 3, 10))).toEqual([true, false])
  })

  it.each([
    ['before the first claim', new ClaimSchedule()],
    [
      'when others may be due',
      (() => {
        const schedule = idleSchedule()
        schedule.othersMayBeDue()
        return schedule
      })(),
    ],
    [
      'when others became due during a claim that found nothing else',
      (() => {
        const schedule = idleSchedule()
        const plan = schedule.next(0, 10, true)!
        schedule.othersMayBeDue()
        schedule.claimed(plan, ALL, true)
        schedule.taken()
        return schedule
      })(),
    ],
    [
      'when a claim has not found all',
      (() => {
        const schedule = idleSchedule()
        schedule.claimed(schedule.next(0, 10, true)!, ALL, false)
        schedule.taken()
        return schedule
      })(),
    ],
    [
      'when an interrupted entry is due',
      (() => {
        const schedule = idleSchedule()
        schedule.claimed(schedule.next(0, 10, true)!, { entries: [], interruptedIsDue: true }, true)
        schedule.taken()
        return schedule
      })(),
    ],
  ])('not %s', (_when, schedule) => {
    expect(schedule.hasRoom(0, 0, 10)).toBe(false)
  })
})
