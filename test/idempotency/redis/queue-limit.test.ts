import { once } from 'node:events'
import { createClient } from 'redis'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { queueLimit } from '../../../src/idempotency/redis/redis-store.js'
import { freePort } from '../../support/server-program.js'

describe('queueLimit', () => {
  beforeEach(() => jest.useFakeTimers())
  afterEach(() => jest.useRealTimers())

  it('gives commands of the same time one signal, which aborts at the limit', () => {
    const signal = queueLimit(5_000)
    const first = signal()
    expect(signal()).toBe(first)
    jest.advanceTimersByTime(100)
    const second = signal()
    expect(second).not.toBe(first)
    jest.advanceTimersByTime(4_900)
    expect([first.aborted, second.aborted]).toEqual([true, false])
    jest.advanceTimersByTime(100)
    expect(second.aborted).toBe(true)
  })
})

describe('a client without a server', () => {
  // The client itself does not run on these timers.
  beforeEach(() =>
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] }),
  )
  afterEach(() => jest.useRealTimers())

  it('keeps no claim in its queue for longer than five seconds, and warns of no leak', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    const client = createClient({ url, socket: { reconnectStrategy: 50 } })
    const refused = once(client, 'error')
    client.on('error', () => {})
    client.connect().catch(() => {})
    const warnings: unknown[] = []
    const onWarning = (warning: unknown) => warnings.push(warning)
    process.on('warning', onWarning)
    const store = new RedisIdempotencyStore({ client, logger: false })
    const hash = Buffer.alloc(32).toString('base64')
    let ended = 0
    const claims = Array.from({ length: 20 }, (_, index) =>
      store
        .claim({ key: `${index}`, bodyHash: hash, signature: hash, leaseMs: 1_000 })
        .finally(() => ended++),
    )
    const results = Promise.allSettled(claims)
    await refused
    await jest.advanceTimersByTimeAsync(4_999)
    expect(ended).toBe(0)
    await jest.advanceTimersByTimeAsync(1)
    expect(new Set((await results).map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(warnings).toEqual([])
    process.off('warning', onWarning)
    client.destroy()
  })
})
