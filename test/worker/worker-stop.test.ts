import type { CallbackPayload } from '../../src/index.js'
import type { ClaimedEntry } from '../../src/inbox/engine.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { away, interposed, never } from '../support/interposed-inbox.js'
import { work, type WorkOptions } from '../support/running-worker.js'
import { until } from '../support/until.js'

function interposedWork(options: WorkOptions = {}) {
  const clock = fakeClock()
  const between = interposed(new MemoryInbox({ clock }))
  return { ...work({ clock, inbox: between.inbox, handler: 'manual', ...options }), ...between }
}

const isSettled = async (promise: Promise<unknown>) => {
  let settled = false
  void promise.finally(() => (settled = true))
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

/** A stop that is given 5 ms is over by then, whatever hangs. */
const STOPS_MS = 5_000

describe('start', () => {
  it('is safe to call twice', async () => {
    const { worker, store, becomes, runs, calls } = interposedWork({ pollMs: 2 ** 30, handler: () => {} })
    worker.start()
    const id = await store()
    worker.wake()
    await becomes(id, 'handled')
    expect(runs).toHaveLength(1)
    expect(calls.claim).toBeLessThanOrEqual(3)
  })

  it('does nothing once the worker was stopped', async () => {
    const { worker, store, inbox, calls } = interposedWork({ start: false })
    await worker.stop(1_000)
    worker.start()
    const id = await store()
    worker.wake()
    expect(await inbox.show(id)).toMatchObject({ state: 'stored' })
    expect(calls).toMatchObject({ claim: 0, extend: 0 })
  })
})

describe('stop', () => {
  it('lets what runs finish, and claims nothing more', async () => {
    const { worker, store, becomes, called, inbox, runs } = interposedWork({ concurrency: 1 })
    const [first, second] = [await store(), await store()]
    const run = await called(1)
    const stopped = worker.stop(10_000)
    expect(await isSettled(stopped)).toBe(false)
    expect(run.context.signal.aborted).toBe(false)
    run.succeed()
    await stopped
    await becomes(first, 'handled')
    expect(await inbox.show(second)).toMatchObject({ state: 'stored', attempts: 0 })
    expect(runs).toHaveLength(1)
  })

  it('is safe to call twice', async () => {
    const { worker, store, called } = interposedWork()
    await store()
    const run = await called(1)
    const [first, second] = [worker.stop(10_000), worker.stop(1)]
    expect(await isSettled(second)).toBe(false)
    run.succeed()
    await Promise.all([first, second])
    await worker.stop(1)
  })

  it('does not wait for the next look at the inbox', async () => {
    const { worker, calls } = interposedWork({ pollMs: 2 ** 30 })
    await until(() => calls.claim === 1)
    await worker.stop(10_000)
    expect(calls.claim).toBe(1)
  })

  it('aborts what has not finished within the limit, and hands it to the next at once', async () => {
    const { worker, store, becomes, clock, log, runs } = interposedWork({
      handler: (_event, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const id = await store()
    await until(() => runs.length === 1)
    await worker.stop(5)
    const message = 'stop() aborted the handlers after 5 ms (stopTimeoutMs)'
    expect(runs[0]!.context.signal.reason).toMatchObject({ message })
    expect(await becomes(id, 'retrying')).toMatchObject({
      attempts: 1,
      dueAt: new Date(clock()),
      reason: `Error: ${message}`,
    })
    expect(log.withCode('WARN_STOP_TIMEOUT')).toHaveLength(1)
  })

  it('leaves behind what does not listen; its lease runs out', async () => {
    const { worker, store, called, clock, inbox, calls, log } = interposedWork()
    const pass = fakeTimeouts()
    const id = await store()
    worker.wake()
    const run = await called(1)
    const stopped = worker.stop(5)
    await pass(STOPS_MS)
    await stopped
    run.succeed()
    await until(() => log.withCode('WARN_LEASE_LOST').length === 1)
    expect(calls.settle).toBe(0)
    clock.advance(60_000)
    const interrupted = { eventTypes: 'any', limit: 1, leaseMs: 60_000, interrupted: true } as const
    expect((await inbox.claim(interrupted)).entries).toMatchObject([{ id, attempt: 2 }])
  })

  it('lets what a claim in flight brings be handled', async () => {
    const { worker, store, becomes, called, set, calls } = interposedWork()
    const gate = deferred()
    set('claim', (claim) => gate.promise.then(claim))
    const before = calls.claim
    await until(() => calls.claim > before)
    const id = await store()
    const stopped = worker.stop(10_000)
    gate.resolve()
    ;(await called(1)).succeed()
    await stopped
    await becomes(id, 'handled')
  })

  it('begins nothing that a claim brings after the limit', async () => {
    const { worker, store, set, calls, runs, inbox } = interposedWork({ handler: () => {} })
    const gate = deferred()
    let claimed: readonly ClaimedEntry[] | undefined
    set('claim', (claim) =>
      gate.promise.then(claim).then((claims) => {
        claimed = claims.entries
        return claims
      }),
    )
    const before = calls.claim
    await until(() => calls.claim > before)
    const id = await store()
    const pass = fakeTimeouts()
    const stopped = worker.stop(5)
    await pass(STOPS_MS)
    await stopped
    gate.resolve()
    await until(() => claimed !== undefined)
    await new Promise((resolve) => setImmediate(resolve))
    expect(claimed).toMatchObject([{ id }])
    expect(runs).toEqual([])
    expect(await inbox.show(id)).toMatchObject({ state: 'stored', attempts: 0 })
  })

  it('begins no handler whose beginning is recorded after the limit', async () => {
    const { worker, store, set, calls, runs } = interposedWork({ handler: () => {}, maxAttempts: 1 })
    const gate = deferred()
    set('begin', (begin) => begin().then((begun) => gate.promise.then(() => begun)))
    await store()
    worker.wake()
    await until(() => calls.begin === 1)
    const pass = fakeTimeouts()
    const stopped = worker.stop(5)
    await pass(STOPS_MS)
    await stopped
    gate.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(runs).toEqual([])
  })

  it('has used no attempt of an entry whose payload is checked until after the limit, and calls no handler', async () => {
    const checked = deferred()
    const validate = jest.fn(async (value: unknown) => {
      await checked.promise
      return { value: value as CallbackPayload }
    })
    const { worker, store, runs, inbox, log, failures } = interposedWork({
      maxAttempts: 1,
      schema: { '~standard': { version: 1, vendor: 'test', validate } },
    })
    const id = await store()
    await until(() => validate.mock.calls.length === 1)
    const stopped = worker.stop(5)
    await until(() => log.withCode('WARN_STOP_TIMEOUT').length === 1)
    checked.resolve()
    await stopped
    expect(runs).toEqual([])
    expect(failures).toEqual([])
    expect(await inbox.show(id)).toMatchObject({ state: 'stored', attempts: 0 })
  })

  it.each(['claim', 'prune'] as const)('does not wait for ever for a %s that hangs', async (method) => {
    const pass = fakeTimeouts()
    const { worker, set, calls } = interposedWork({ start: false })
    set(method, never)
    worker.start()
    await until(() => calls[method] === 1)
    const stopped = worker.stop(5)
    await pass(STOPS_MS)
    await stopped
  })

  it('does not wait for ever for an end that cannot be recorded', async () => {
    const pass = fakeTimeouts()
    const { worker, store, set, called, calls } = interposedWork()
    await store()
    worker.wake()
    const run = await called(1)
    set('settle', away)
    run.succeed()
    await until(() => calls.settle >= 1)
    const stopped = worker.stop(5)
    await pass(STOPS_MS)
    await stopped
    const after = calls.settle
    expect(after).toBeGreaterThan(1)
    await pass(STOPS_MS)
    expect(calls.settle).toBe(after)
  })
})
