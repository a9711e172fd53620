afterEach(() => jest.restoreAllMocks())

/** Returns a function that sets the monotonic clock ahead, as a pause of the whole process does. No timer has run meanwhile. */
export function pausing(): (ms: number) => void {
  const now = performance.now.bind(performance)
  let pausedMs = 0
  jest.spyOn(performance, 'now').mockImplementation(() => now() + pausedMs)
  return (ms) => (pausedMs += ms)
}
