import type { Handler } from '../../src/index.js'
import { deferred } from '../support/deferred.js'
import { work } from '../support/running-worker.js'
import { until } from '../support/until.js'

const untilAborted: Handler = (_event, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('a handler whose time is up', () => {
  it('has its signal aborted, and its entry is retried', async () => {
    const { store, becomes, failures, runs, clock, called } = work({ timeoutMs: 5, handler: untilAborted })
    const id = await store()
    expect(await becomes(id, 'retrying')).toMatchObject({
      reason: 'Error: the handler took longer than 5 ms',
      attempts: 1,
    })
    expect(runs[0]!.context.signal.aborted).toBe(true)
    expect(failures).toMatchObject([{ code: 'ERR_HANDLER_TIMEOUT' }])
    clock.advance(1_000)
    await called(2)
  })

  it('keeps its entry for as long as it goes on', async () => {
    const finish = deferred()
    let calls = 0
    const { store, becomes, inbox, called, clock, runs } = work({
      timeoutMs: 5,
      handler: () => (calls++ === 0 ? finish.promise : undefined),
    })
    const id = await store()
    const run = await called(1)
    await until(() => run.context.signal.aborted)
    // Whatever else there is to do is done meanwhile.
    const other = await store()
    await becomes(other, 'handled')
    expect(await inbox.show(id)).toMatchObject({ state: 'running' })

    finish.resolve()
    expect(await becomes(id, 'retrying')).toMatchObject({
      reason: 'Error: the handler took longer than 5 ms',
    })
    clock.advance(1_000)
    await called(3)
    expect(runs[2]!.context.attempt).toBe(2)
  })

  it('keeps its entry no longer than a lease when it never returns', async () => {
    const never = () => new Promise(() => {})
    const { store, becomes, clock, called } = work({ timeoutMs: 5, leaseMs: 50, handler: never })
    const id = await store()
    expect(await becomes(id, 'retrying')).toMatchObject({
      attempts: 1,
      reason: 'Error: the handler took longer than 5 ms',
    })
    clock.advance(1_000)
    expect((await called(2)).context.attempt).toBe(2)
  })

  it('gives up its slot when the lease that it began with is over, and no later', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] })
    try {
      const { store, becomes, runs, called, inbox, clock } = work({
        timeoutMs: 50_000,
        leaseMs: 60_000,
        pollMs: 1_000,
        concurrency: 1,
        // Until the end of the test.
        handler: 'manual',
      })
      const pass = async (ms: number) => {
        clock.advance(ms)
        await jest.advanceTimersByTimeAsync(ms)
      }
      // The lease is renewed every 20 seconds, counted from the start of the worker: not together with the handler.
      await pass(15_000)
      const [first] = [await store(), await store()]
      await pass(1_000)
      await called(1)
      const begunAt = performance.now()
      while (performance.now() < begunAt + 59_000) {
        expect(runs).toHaveLength(1)
        expect(await inbox.show(first)).toMatchObject({ state: 'running' })
        await pass(500)
      }
      await pass(1_000)
      await called(2)
      expect(runs[0]!.event.idempotencyKey).not.toBe(runs[1]!.event.idempotencyKey)
      await becomes(first, 'retrying', 1)
    } finally {
      jest.useRealTimers()
    }
  })

  it('makes a dead letter with the right reason when it never returns at any attempt', async () => {
    const never = () => new Promise(() => {})
    const { store, becomes, clock } = work({ timeoutMs: 5, leaseMs: 50, handler: never, maxAttempts: 2 })
    const id = await store()
    await becomes(id, 'retrying')
    clock.advance(1_000)
    expect(await becomes(id, 'dead')).toMatchObject({
      attempts: 2,
      reason: 'Error: the handler took longer than 5 ms',
    })
  })
})
