import { MemoryInbox } from './whole-inbox.js'
import type { ArrivalOptions } from './arrivals.js'
import { fakeClock } from './fake-clock.js'
import { interposed } from './interposed-inbox.js'
import { work, type WorkOptions } from './running-worker.js'

export const LEASE_MS = 60_000
export const INTERRUPTED = { eventTypes: 'any', limit: 10, leaseMs: LEASE_MS, interrupted: true } as const

/** Time stands still, for the worker as for its inbox, and passes when a test says so. */
export function stopTime(): void {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] })
  })
  afterEach(() => jest.useRealTimers())
}

/** A worker whose calls of its inbox a test can change. Call `stopTime` first. */
export function leasedWorker(options: WorkOptions = {}) {
  const clock = fakeClock()
  const memory = new MemoryInbox({ clock })
  const between = interposed(memory)
  const working = work({
    clock,
    inbox: between.inbox,
    handler: 'manual',
    leaseMs: LEASE_MS,
    timeoutMs: 2 ** 31 - 1,
    pollMs: 1_000,
    ...options,
  })
  return {
    ...working,
    ...between,
    memory,
    async store(given?: ArrivalOptions) {
      const id = await working.store(given)
      working.worker.wake()
      return id
    },
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 1_000) {
        clock.advance(Math.min(left, 1_000))
        await jest.advanceTimersByTimeAsync(Math.min(left, 1_000))
        // The worker collects what happens in an event loop tick.
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    /** What another process would get now. */
    otherClaims: async () =>
      (await memory.claim(INTERRUPTED)).entries.map(({ id, attempt }) => ({ id, attempt })),
  }
}
