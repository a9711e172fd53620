import { startProcessorTimer } from '../../src/base/processor-time.js'

/** A process whose clocks are moved by the test, in milliseconds. */
function madeUpProcess(hasThreadTime: boolean) {
  const times = { elapsed: 1_000, ofProcess: 500, ofThread: 300 }
  const inMicroseconds = (ms: number) => ({ user: ms * 600, system: ms * 400 })
  const timer = startProcessorTimer(
    {
      cpuUsage: () => inMicroseconds(times.ofProcess),
      ...(hasThreadTime && { threadCpuUsage: () => inMicroseconds(times.ofThread) }),
    },
    () => times.elapsed,
  )
  const pass = ({ elapsed = 0, ofProcess = 0, ofThread = 0 }: Partial<typeof times>) => {
    times.elapsed += elapsed
    times.ofProcess += ofProcess
    times.ofThread += ofThread
  }
  return { timer, pass }
}

test('counts the time of the thread, not that of other threads and other programs', () => {
  const { timer, pass } = madeUpProcess(true)
  pass({ elapsed: 100, ofProcess: 60, ofThread: 20 })
  expect(timer.usedMs()).toBe(20)
  expect([timer.exceeds(19), timer.exceeds(20)]).toEqual([true, false])
})

test.each([
  ['other programs take the time', { elapsed: 100, ofProcess: 30 }, 30],
  ['other threads work at the same time', { elapsed: 10, ofProcess: 30 }, 10],
])('without the time of the thread, counts the lesser one if %s', (_, passed, usedMs) => {
  const { timer, pass } = madeUpProcess(false)
  pass(passed)
  expect(timer.usedMs()).toBe(usedMs)
  expect([timer.exceeds(usedMs - 1), timer.exceeds(usedMs)]).toEqual([true, false])
})

test('of this process: work is counted', () => {
  const timer = startProcessorTimer()
  let rounds = 0
  while (!timer.exceeds(5)) rounds++
  expect(timer.usedMs()).toBeGreaterThan(5)
  expect(rounds).toBeGreaterThan(0)
})
