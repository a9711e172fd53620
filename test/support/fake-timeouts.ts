import { setImmediate as nextTick } from 'node:timers/promises'

/** A timeout that another one sets in a later turn of the event loop begins at most so late, in milliseconds. */
const STEP_MS = 100

afterEach(() => jest.useRealTimers())

/**
 * Has timeouts end only when the test moves the time on, by the function that is returned, until the test is over. Sockets,
 * promises and immediates go on. The clocks of the process stand still with the timeouts, but for those named here.
 */
export function fakeTimeouts(...goingOn: ('Date' | 'performance')[]): (ms: number) => Promise<void> {
  jest.useFakeTimers({
    doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask', ...goingOn],
  })
  return async (ms) => {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await jest.advanceTimersByTimeAsync(Math.min(left, STEP_MS))
      await nextTick()
    }
  }
}
