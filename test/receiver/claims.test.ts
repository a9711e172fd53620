import { setImmediate as nextTick } from 'node:timers/promises'
import type { CallbackPayload, ClaimResult, StandardSchema } from '../../src/index.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { genuine, runReceiver, subscription, type RunningReceiver } from '../support/running-receiver.js'
import { storeWith, type StoreSteps } from '../support/stores.js'
import { until } from '../support/until.js'

const ANYTHING: StandardSchema<CallbackPayload> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as CallbackPayload }) },
}

const codes = ({ outcomes }: RunningReceiver) => outcomes.map(({ code }) => code)

describe('a store that', () => {
  it('hangs makes the sender come back, and its claim is released when it comes after all', async () => {
    const away = deferred()
    const released = jest.fn()
    const store = storeWith({
      claim: (take) => away.promise.then(take),
      async release(giveBack) {
        await giveBack()
        released()
      },
    })
    const running = await runReceiver({ store, dependencyTimeoutMs: 20 })
    const callback = genuine()
    expect(await running.send(callback)).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    away.resolve()
    await until(() => released.mock.calls.length === 1)

    expect(await running.send(callback)).toMatchObject({ status: 200 })
    expect(codes(running)).toEqual(['ERR_STORE_UNAVAILABLE', 'HANDLED'])
    expect(running.handled).toHaveLength(1)
  })

  it.each([
    ['fails', () => Promise.reject(new Error('the database is away'))],
    ['has nothing to give', (take) => take().then((): ClaimResult => ({ state: 'in-progress' }))],
  ] satisfies [string, StoreSteps['claim']][])(
    'hangs, and then %s, brings nothing down',
    async (_what, afterwards) => {
      const away = deferred()
      const store = storeWith({ claim: (take) => away.promise.then(() => afterwards(take)) })
      const running = await runReceiver({ store, dependencyTimeoutMs: 20 })
      expect(await running.send(genuine())).toMatchObject({ status: 503 })
      away.resolve()
      // A rejection that nobody waits for would end the process, and fails a test that still runs.
      for (let turn = 0; turn < 10; turn++) await nextTick()
      expect(codes(running)).toEqual(['ERR_STORE_UNAVAILABLE'])
      expect(running.log.lines).toHaveLength(1)
    },
  )

  it.each([
    [
      'throws',
      () => {
        throw new Error('the database is away')
      },
    ],
    ['answers nothing', () => Promise.resolve(undefined)],
    ['answers what is no answer', () => Promise.resolve({ state: 'perhaps' })],
    ['answers with a claim that is none', () => Promise.resolve({ state: 'claimed' })],
  ])('%s gives nobody a 2xx, and brings nothing down', async (_what, claim) => {
    const running = await runReceiver({ store: { retentionMs: Infinity, claim: claim as never } })
    expect(await running.send(genuine())).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    expect(running.handled).toEqual([])
    expect(codes(running)).toEqual(['ERR_STORE_UNAVAILABLE'])
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('the database is away'))],
    ['hangs', () => new Promise<boolean>(() => {})],
  ])('%s at completion makes the sender come back', async (_what, complete) => {
    const released = jest.fn(async () => {})
    const store = storeWith({ complete, release: released })
    const running = await runReceiver({ store, dependencyTimeoutMs: 20 })
    expect(await running.send(genuine())).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    expect(codes(running)).toEqual(['ERR_STORE_UNAVAILABLE'])
    // It may have been recorded: to give it back could have it handled a second time.
    expect(released).not.toHaveBeenCalled()
  })
})

describe('a claim whose lease runs out while its handler runs', () => {
  it('is held for leaseMs, and no longer', async () => {
    const clock = fakeClock()
    const finish = deferred()
    const running = await runReceiver({
      clock,
      leaseMs: 20_000,
      handler: (_event, { attempt }) => (attempt === 1 ? finish.promise : undefined),
    })
    const callback = genuine({ timestamp: new Date(clock()) })
    const first = running.send(callback)
    await until(() => running.handled.length === 1)
    clock.advance(19_999)
    expect(await running.send(callback)).toMatchObject({ status: 409 })
    clock.advance(1)
    expect(await running.send(callback)).toMatchObject({ status: 200 })
    finish.resolve()
    await first
  })

  it('cannot be completed once another has taken it', async () => {
    const clock = fakeClock()
    const finishFirst = deferred()
    const running = await runReceiver({
      clock,
      handler: (_event, { attempt }) => (attempt === 1 ? finishFirst.promise : undefined),
    })
    const callback = genuine({ timestamp: new Date(clock()) })
    const first = running.send(callback)
    await until(() => running.handled.length === 1)
    clock.advance(60_001)
    expect(await running.send(callback)).toMatchObject({ status: 200 })
    finishFirst.resolve()

    expect(await first).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    expect(codes(running)).toEqual(['HANDLED', 'ERR_CLAIM_LOST'])
  })

  it('is completed when nobody has taken it', async () => {
    const clock = fakeClock()
    const finish = deferred()
    const running = await runReceiver({ clock, handler: () => finish.promise })
    const answer = running.send(genuine({ timestamp: new Date(clock()) }))
    await until(() => running.handled.length === 1)
    clock.advance(60_001)
    finish.resolve()
    expect(await answer).toMatchObject({ status: 200 })
  })
})

describe('a claim that is old before its handler begins', () => {
  it('is given back, as a handler that began now could outlive it', async () => {
    let late: jest.SpyInstance | undefined
    // As after a schema that takes long, or in a process that is busy.
    const validate = (value: unknown) => {
      late ??= jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_500)
      return { value: value as CallbackPayload }
    }
    const running = await runReceiver({
      leaseMs: 20_000,
      handlerTimeoutMs: 18_000,
      schemas: { [subscription.eventTypeName]: { '~standard': { version: 1, vendor: 'test', validate } } },
    })
    const callback = genuine()
    expect(await running.send(callback)).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    late!.mockRestore()
    expect(running.handled).toEqual([])
    expect(await running.send(callback)).toMatchObject({ status: 200 })
    expect(codes(running)).toEqual(['ERR_CLAIM_LOST', 'HANDLED'])
  })
})

describe('a handler whose time is up', () => {
  it.each([
    ['', {}],
    ['of an event type with a schema ', { schemas: { [subscription.eventTypeName]: ANYTHING } }],
  ])('%sand who goes on is not run a second time beside itself', async (_which, options) => {
    const finish = deferred()
    const running = await runReceiver({
      ...options,
      handlerTimeoutMs: 20,
      handler: (_event, { attempt }) => (attempt === 1 ? finish.promise : undefined),
    })
    const callback = genuine()
    await running.send(callback)
    await running.send(callback)
    expect(running.handled).toHaveLength(1)
    finish.resolve()
    await nextTick()
    await running.send(callback)

    expect(codes(running)).toEqual(['ERR_HANDLER_TIMEOUT', 'ERR_CALLBACK_IN_PROGRESS', 'HANDLED'])
    expect(running.handled).toHaveLength(2)
  })
})
