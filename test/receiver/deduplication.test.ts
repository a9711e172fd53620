import { setImmediate as nextTick } from 'node:timers/promises'
import type { CallbackPayload, ClaimResult, StandardSchema } from '../../src/index.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { withHeader } from '../support/http-bytes.js'
import { genuine, runReceiver, subscription, type RunningReceiver } from '../support/running-receiver.js'
import { storeWith, type StoreSteps } from '../support/stores.js'
import { until } from '../support/until.js'

const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
const OTHER_KEY = '3f2504e0-4f89-11d3-9a0c-0305e82c3301'

const ANYTHING: StandardSchema<CallbackPayload> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as CallbackPayload }) },
}

const codes = ({ outcomes }: RunningReceiver) => outcomes.map(({ code }) => code)

describe('a key', () => {
  it.each([
    ['callbackUrl', 'https://partner.example.com/hooks/other'],
    ['eventTypeName', 'accounts.closed'],
  ])('belongs to its subscription, told by its %s, as it may not be unique beyond', async (part, value) => {
    const other = { ...subscription, secret: 'another secret', [part]: value }
    const running = await runReceiver({ subscriptions: [subscription, other], handler: null })
    running.receiver.onAny(() => {})
    await running.send(genuine({ idempotencyKey: KEY }))
    await running.send(genuine({ idempotencyKey: KEY, subscription: other }))
    expect(codes(running)).toEqual(['HANDLED', 'HANDLED'])
  })

  it('with another body is a conflict while the first is still being handled', async () => {
    const finish = deferred()
    const running = await runReceiver({ handler: () => finish.promise })
    const first = running.send(genuine({ idempotencyKey: KEY }))
    await until(() => running.handled.length === 1)
    await running.send(genuine({ idempotencyKey: KEY }))
    finish.resolve()
    await first
    expect(codes(running)).toEqual(['ERR_IDEMPOTENCY_KEY_REUSED', 'HANDLED'])
  })
})

it('callbacks that say the same, under keys of their own and signed at times of their own, are all handled', async () => {
  const running = await runReceiver()
  const now = Date.now()
  for (const timestamp of [now, now - 1_000].map((ms) => new Date(ms)))
    await running.send(genuine({ body: '{"Id": "1"}', timestamp }))
  expect(codes(running)).toEqual(['HANDLED', 'HANDLED'])
})

describe('a captured delivery', () => {
  it('is recognised under another key while the first is still being handled', async () => {
    const finish = deferred()
    const running = await runReceiver({ handler: () => finish.promise })
    const callback = genuine()
    const first = running.send(callback)
    await until(() => running.handled.length === 1)
    await running.send(withHeader(callback.toHttp(), 'X-Idempotency-Key', OTHER_KEY))
    finish.resolve()
    await first
    expect(codes(running)).toEqual(['ERR_SIGNATURE_REPLAYED', 'HANDLED'])
  })

  it('does not shut out the genuine one when its handling failed', async () => {
    let fails = true
    const running = await runReceiver({
      handler: () => (fails ? Promise.reject(new Error('no')) : undefined),
    })
    const callback = genuine()
    await running.send(withHeader(callback.toHttp(), 'X-Idempotency-Key', OTHER_KEY))
    fails = false
    await running.send(callback)
    expect(codes(running)).toEqual(['ERR_HANDLER_FAILED', 'HANDLED'])
  })
})

describe('a callback that comes again after its handler failed', () => {
  it('is handled, and the handler is told the attempt', async () => {
    const attempts: number[] = []
    const running = await runReceiver({
      handler(_event, { attempt }) {
        attempts.push(attempt)
        if (attempt < 3) throw new Error('not yet')
      },
    })
    const callback = genuine()
    for (let delivery = 0; delivery < 4; delivery++) await running.send(callback)
    expect(attempts).toEqual([1, 2, 3])
    expect(codes(running)).toEqual(['ERR_HANDLER_FAILED', 'ERR_HANDLER_FAILED', 'HANDLED', 'DUPLICATE'])
  })

  it('finds the claim released by the time that the sender has its answer', async () => {
    const release = deferred()
    const store = storeWith({ release: (giveBack) => release.promise.then(giveBack) })
    const running = await runReceiver({ store, handler: () => Promise.reject(new Error('no')) })
    let answered = false
    const answer = running.send(genuine()).finally(() => (answered = true))
    await until(() => running.handled.length === 1)
    for (let turn = 0; turn < 10; turn++) await nextTick()
    expect(answered).toBe(false)
    release.resolve()
    expect(await answer).toMatchObject({ status: 500 })
  })

  it('is answered although the store hangs when the claim is to be released', async () => {
    const store = storeWith({ release: () => new Promise(() => {}) })
    const running = await runReceiver({
      store,
      dependencyTimeoutMs: 20,
      handler: () => Promise.reject(new Error('no')),
    })
    expect(await running.send(genuine())).toMatchObject({ status: 500 })
    expect(running.log.lines).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/^a claim could not be released/) }),
    )
  })

  it('is answered although the claim could not be released, and the log says so', async () => {
    const store = storeWith({ release: () => Promise.reject(new Error('the database is away')) })
    const running = await runReceiver({ store, handler: () => Promise.reject(new Error('no')) })
    expect(await running.send(genuine())).toMatchObject({ status: 500 })
    expect(running.log.lines).toContainEqual({
      level: 'warn',
      fields: { err: expect.objectContaining({ message: 'the database is away' }) },
      message: expect.stringMatching(/^a claim could not be released/),
    })
  })
})

describe('concurrent twins', () => {
  it('are handled once, however slowly the store answers', async () => {
    const store = storeWith({
      async claim(take) {
        for (let turn = 0; turn < 5; turn++) await nextTick()
        const result = await take()
        for (let turn = 0; turn < 5; turn++) await nextTick()
        return result
      },
      async complete(record) {
        for (let turn = 0; turn < 5; turn++) await nextTick()
        return record()
      },
    })
    const finish = deferred()
    const running = await runReceiver({ store, handler: () => finish.promise })
    const callback = genuine()
    const answers = Array.from({ length: 300 }, () => running.send(callback, { timeoutMs: 15_000 }))
    await until(() => running.outcomes.length === 299)
    expect(new Set(codes(running))).toEqual(new Set(['ERR_CALLBACK_IN_PROGRESS']))
    finish.resolve()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)

    expect(running.handled).toHaveLength(1)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(299)
    expect(await running.send(callback)).toMatchObject({ status: 200 })
    expect(codes(running).at(-1)).toBe('DUPLICATE')
  })

  it('are all answered 200 or 409 when the handler is quick', async () => {
    const running = await runReceiver()
    const callback = genuine()
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => running.send(callback, { timeoutMs: 15_000 })),
    )
    expect(running.handled).toHaveLength(1)
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    expect(codes(running).filter((code) => code === 'HANDLED')).toHaveLength(1)
  })
})

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
      late ??= jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 250)
      return { value: value as CallbackPayload }
    }
    const running = await runReceiver({
      leaseMs: 2_000,
      handlerTimeoutMs: 1_800,
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
