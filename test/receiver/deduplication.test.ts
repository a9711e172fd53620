import { setImmediate as nextTick } from 'node:timers/promises'
import { deferred } from '../support/deferred.js'
import { withHeader } from '../support/http-bytes.js'
import { genuine, runReceiver, subscription, type RunningReceiver } from '../support/running-receiver.js'
import { storeWith } from '../support/stores.js'
import { until } from '../support/until.js'

const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
const OTHER_KEY = '3f2504e0-4f89-11d3-9a0c-0305e82c3301'

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
    const answers = Array.from({ length: 100 }, () => running.send(callback))
    await until(() => running.outcomes.length === 99)
    expect(new Set(codes(running))).toEqual(new Set(['ERR_CALLBACK_IN_PROGRESS']))
    finish.resolve()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)

    expect(running.handled).toHaveLength(1)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(99)
    expect(await running.send(callback)).toMatchObject({ status: 200 })
    expect(codes(running).at(-1)).toBe('DUPLICATE')
  })

  it('are all answered 200 or 409 when the handler is quick', async () => {
    const running = await runReceiver()
    const callback = genuine()
    const answers = await Promise.all(Array.from({ length: 100 }, () => running.send(callback)))
    expect(running.handled).toHaveLength(1)
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    expect(codes(running).filter((code) => code === 'HANDLED')).toHaveLength(1)
  })
})
