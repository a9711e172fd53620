/**
 * A test that mostly waits. It starts before the other tests of its `describe` and runs beside them, so it has to be the last
 * of them, uses nothing that `afterEach` cleans, and cleans up itself. `it.concurrent` runs beside other concurrent tests only.
 */
export function itBeside(name: string, test: () => Promise<void>, timeoutMs?: number): void {
  let running: Promise<void>

  beforeAll(() => {
    running = test()
    // A rejection fails the test in its turn.
    running.catch(() => {})
  })
  it(name, () => running, timeoutMs)
  // Also where a pattern of names skips the test itself.
  afterAll(() => running.catch(() => {}), timeoutMs)
}
