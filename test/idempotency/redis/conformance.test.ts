import { randomUUID } from 'node:crypto'
import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { registerIdempotencyStoreTests } from '../../../src/testing/idempotency-store-tests.js'
import { claimOf, claimRequest, completed } from '../../support/claim-requests.js'
import { CLIENT_NAMES, CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { anyRedis, describeWithAnyRedis } from '../../support/redis-server.js'
import { StoreTime } from '../../support/redis-time.js'
import { nextLook } from '../../support/until.js'

/** Times are so much longer for the store, so that no lease ends while a busy machine keeps a test waiting. */
const SLOWER = 100

describeWithAnyRedis('RedisIdempotencyStore', () => {
  let server: Awaited<ReturnType<typeof anyRedis>>
  let control: OpenClient<NodeRedisClient>
  beforeAll(async () => {
    server = await anyRedis()
    control = await CLIENTS['node-redis'](server.url)
  })
  afterAll(async () => {
    await control.close()
    await server.stop()
  })

  describe.each(CLIENT_NAMES)('with %s', (name) => {
    let open: Awaited<ReturnType<(typeof CLIENTS)[typeof name]>>
    beforeAll(async () => {
      open = await CLIENTS[name](server.url)
    })
    afterAll(async () => {
      await open.close()
    })

    registerIdempotencyStoreTests(({ retentionMs }) => {
      const prefix = `test-${randomUUID()}`
      const time = new StoreTime(control.client, prefix)
      const store = new RedisIdempotencyStore({
        client: time.of(open.client),
        prefix,
        retentionMs: retentionMs * SLOWER,
      })
      return {
        store: {
          retentionMs: store.retentionMs / SLOWER,
          open: () => store.open(),
          claim: ({ leaseMs, ...request }) => store.claim({ ...request, leaseMs: leaseMs * SLOWER }),
        },
        advance: (ms) => time.pass(ms * SLOWER),
      }
    })
  })

  // In the suite above the records are made older. Here the server's own clock runs.
  it('ends leases, and forgets what is completed, by the clock of the server', async () => {
    const durationMs = 150
    const store = new RedisIdempotencyStore({
      client: control.client,
      prefix: `test-${randomUUID()}`,
      retentionMs: durationMs,
    })
    const leased = claimRequest({ leaseMs: durationMs })
    const kept = claimRequest()
    const claimedAgain = async (request: typeof kept) => {
      for (let looks = 0; (await store.claim(request)).state !== 'claimed'; looks++) await nextLook(looks)
    }
    const startedAt = performance.now()
    await claimOf(store, leased)
    await completed(store, kept)
    await claimedAgain(leased)
    await claimedAgain(kept)
    // One millisecond less, as the server may round down.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(durationMs - 1)
  })
})
