import type { ClaimedEntry, Claims } from '../../src/inbox/engine.js'
import { ClaimSchedule, type Slots } from '../../src/worker/claim-schedule.js'

const ALL = { entries: [], interruptedIsDue: false }

function slots(running: number, recording = 0): Slots {
  return { running, recording, concurrency: 10 }
}

function someOf(count: number): Claims {
  return { entries: Array.from({ length: count }, () => ({}) as ClaimedEntry), interruptedIsDue: false }
}

/** A schedule that has claimed once, and nothing waits. */
function idleSchedule(): ClaimSchedule {
  const schedule = new ClaimSchedule()
  schedule.claimed(schedule.next(slots(0), true)!, ALL, true)
  schedule.taken()
  return schedule
}

describe('what is claimed', () => {
  it('is at first, and when others may be due, what there are slots for', () => {
    const schedule = new ClaimSchedule()
    expect(schedule.next(slots(3), true)).toEqual({ limit: 7, interrupted: false })
    // Those that have ended take slots until that is recorded.
    expect(schedule.next(slots(10, 10), true)).toBeUndefined()
    const idle = idleSchedule()
    idle.stored()
    idle.othersMayBeDue()
    expect(idle.next(slots(3), true)).toEqual({ limit: 7, interrupted: false })
  })

  it('is what waits and has slots', () => {
    const limitBeside = (running: number) => {
      const schedule = idleSchedule()
      for (let count = 0; count < 2; count++) schedule.stored()
      return schedule.next(slots(running), true)?.limit
    }
    expect([3, 8, 10].map(limitBeside)).toEqual([2, 2, undefined])
  })

  it('is nothing if nothing waits, so that the inbox says whether others are due, and arrivals still have room', () => {
    const schedule = idleSchedule()
    expect(schedule.next(slots(9), true)).toEqual({ limit: 0, interrupted: false })
    expect(schedule.hasRoom(slots(9))).toBe(true)
    expect(idleSchedule().next(slots(10), true)).toEqual({ limit: 0, interrupted: false })
  })

  it('is later what a claim with fewer slots has left', () => {
    const schedule = idleSchedule()
    for (let count = 0; count < 5; count++) schedule.stored()
    const plan = schedule.next(slots(8), true)!
    schedule.stored()
    schedule.claimed(plan, someOf(2), false)
    schedule.taken()
    expect(schedule.hasRoom(slots(5))).toBe(true)
    expect(schedule.next(slots(1), true)?.limit).toBe(4)
  })

  it('is what there are slots for if nothing is to be left for arrivals', () => {
    const schedule = idleSchedule()
    schedule.stored()
    expect(schedule.next(slots(3), false)).toEqual({ limit: 7, interrupted: false })
  })
})

describe('an arrival has room', () => {
  it('beside those that run, that wait and that a claim may take', () => {
    const schedule = idleSchedule()
    expect([9, 10].map((running) => schedule.hasRoom(slots(running)))).toEqual([true, false])
    for (let count = 0; count < 3; count++) schedule.stored()
    expect([6, 7].map((running) => schedule.hasRoom(slots(running)))).toEqual([true, false])
    const plan = schedule.next(slots(0), true)!
    expect(plan.limit).toBe(3)
    expect([6, 7].map((running) => schedule.hasRoom(slots(running)))).toEqual([true, false])
    schedule.stored()
    expect([5, 6].map((running) => schedule.hasRoom(slots(running)))).toEqual([true, false])
    schedule.claimed(plan, ALL, true)
    // Until the entries are running.
    expect([5, 6].map((running) => schedule.hasRoom(slots(running)))).toEqual([true, false])
    schedule.taken()
    expect([8, 9].map((running) => schedule.hasRoom(slots(running)))).toEqual([true, false])
  })

  it('beside those that have ended', () => {
    const schedule = idleSchedule()
    expect([12, 13].map((running) => schedule.hasRoom(slots(running, 3)))).toEqual([true, false])
    expect([19, 20].map((running) => schedule.hasRoom(slots(running, 20)))).toEqual([true, false])
    schedule.stored()
    expect([11, 12].map((running) => schedule.hasRoom(slots(running, 3)))).toEqual([true, false])
  })

  const claimAll = (schedule: ClaimSchedule) => schedule.next(slots(0), true)!
  const store = (schedule: ClaimSchedule, times: number) => {
    for (let time = 0; time < times; time++) schedule.stored()
  }

  it('not before the first claim', () => {
    expect(new ClaimSchedule().hasRoom(slots(0))).toBe(false)
  })

  it.each<[string, (schedule: ClaimSchedule) => void]>([
    ['others may be due', (schedule) => schedule.othersMayBeDue()],
    [
      'others became due during a claim that found nothing else',
      (schedule) => {
        const plan = claimAll(schedule)
        schedule.othersMayBeDue()
        schedule.claimed(plan, ALL, true)
      },
    ],
    ['a claim has not found all', (schedule) => schedule.claimed(claimAll(schedule), ALL, false)],
    [
      'a claim has taken all that waited, and others are due',
      (schedule) => {
        store(schedule, 2)
        schedule.claimed(claimAll(schedule), someOf(2), false)
      },
    ],
    [
      'a claim has taken less than it could, and others are due',
      (schedule) => {
        store(schedule, 12)
        schedule.claimed(claimAll(schedule), someOf(9), false)
      },
    ],
    [
      'an interrupted entry is due',
      (schedule) => schedule.claimed(claimAll(schedule), { ...ALL, interruptedIsDue: true }, true),
    ],
  ])('not when %s', (_what, happens) => {
    const schedule = idleSchedule()
    happens(schedule)
    schedule.taken()
    expect(schedule.hasRoom(slots(0))).toBe(false)
  })
})
