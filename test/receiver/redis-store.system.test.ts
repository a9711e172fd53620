import { createReceiver, type Outcome } from '../../src/index.js'
import { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from '../../src/redis.js'
import { bytesOf, probeOf, reportIn } from '../probe/probe-bytes.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { withHeader } from '../support/http-bytes.js'
import { CLIENT_NAMES, CLIENTS, type OpenClient } from '../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { nextLook } from '../support/until.js'

describeWithRedis.each(CLIENT_NAMES)('receivers that share a Redis server, with %s', (name) => {
  let server: RedisServer
  let open: OpenClient<RedisIdempotencyStoreOptions['client']>[]
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    open = [await CLIENTS[name](server.url), await CLIENTS[name](server.url)]
  })
  afterEach(async () => {
    for (const { close } of open) await close()
  })
  const storeOf = (index: number) => new RedisIdempotencyStore({ client: open[index]!.client, logger: false })
  const lastOf = (outcomes: readonly Outcome[]) => outcomes.at(-1)?.code

  it('handle a callback once, and recognise a replay, whichever gets it', async () => {
    const [one, other] = [await runReceiver({ store: storeOf(0) }), await runReceiver({ store: storeOf(1) })]
    const callback = genuine()
    expect((await one.send(callback)).status).toBe(200)
    expect((await other.send(callback)).status).toBe(200)
    expect([one.handled.length, other.handled.length]).toEqual([1, 0])
    const key = '3f2504e0-4f89-11d3-9a0c-0305e82c3301'
    const replay = withHeader(callback.toHttp(), 'X-Idempotency-Key', key)
    expect((await other.send(replay)).status).toBe(409)
  })

  it('answer a probe once, whichever gets it', async () => {
    const [one, other] = [await runReceiver({ store: storeOf(0) }), await runReceiver({ store: storeOf(1) })]
    const probe = probeOf()
    expect(reportIn(await one.send(bytesOf(probe)), probe)).toBeDefined()
    expect(reportIn(await other.send(bytesOf(probe)), probe)).toBeUndefined()
  })

  it('answer 503 while the server is gone, and go on by themselves', async () => {
    const running = await runReceiver({ store: storeOf(0), dependencyTimeoutMs: 500 })
    // On a busy machine the store may take longer even if nothing is wrong.
    const answered200 = async (callback: SignedCallback) => {
      while ((await running.send(callback)).status !== 200);
    }
    await answered200(genuine())
    await server.kill()
    const callback = genuine()
    const refused = await running.send(callback)
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBeDefined()
    expect(lastOf(running.outcomes)).toBe('ERR_STORE_UNAVAILABLE')
    await server.restart()
    // At first perhaps 409: the claim that was given up is made and released when the connection is back.
    await answered200(callback)
    expect(new Set(running.handled.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2)
  })

  it('answer 503 when the server is lost before the end could be recorded', async () => {
    const running = await runReceiver({
      store: storeOf(0),
      dependencyTimeoutMs: 300,
      handler: () => server.kill(),
    })
    // On a busy machine the first claim may take longer.
    while (running.handled.length === 0) expect((await running.send(genuine())).status).toBe(503)
    await server.restart()
  })

  it('do not start when the server cannot be reached', async () => {
    await server.kill()
    const options = { subscriptions: [subscription], store: storeOf(0), dependencyTimeoutMs: 200 }
    const receiver = createReceiver({ ...options, logger: false })
    await expect(receiver.start()).rejects.toThrow()
    expect(receiver.ready).toBe(false)
    await server.restart()
    for (let looks = 0; !receiver.ready; looks++) {
      await receiver.start().catch(() => {})
      await nextLook(looks)
    }
  })
})
