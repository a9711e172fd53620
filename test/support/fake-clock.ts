export interface FakeClock {
  (): number
  advance(milliseconds: number): void
}

/** A clock that stands still unless told otherwise. */
export function fakeClock(start: Date | number = Date.UTC(2026, 10, 3, 9, 14, 27)): FakeClock {
  let now = Number(start)
  return Object.assign(() => now, {
    advance(milliseconds: number) {
      now += milliseconds
    },
  })
}
