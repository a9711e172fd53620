import { setTimeout as delay } from 'node:timers/promises'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { registerIdempotencyStoreTests } from '../../../src/testing/idempotency-store-tests.js'
import { CLIENT_NAMES, CLIENTS } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

describeWithRedis.each(CLIENT_NAMES)('RedisIdempotencyStore with %s', (name) => {
  let server: RedisServer
  let open: Awaited<ReturnType<(typeof CLIENTS)[typeof name]>>
  let stores = 0
  beforeAll(async () => {
    server = await RedisServer.start()
    open = await CLIENTS[name](server.url)
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })

  registerIdempotencyStoreTests(({ retentionMs }) => ({
    store: new RedisIdempotencyStore({ client: open.client, prefix: `test-${stores++}`, retentionMs }),
    // The server's clock cannot be replaced. One millisecond more, as the server may round down.
    advance: (ms) => delay(ms + 1),
  }))
})
