import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { claimOf, claimRequest, completed } from '../../support/claim-requests.js'
import { CLIENTS } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

const COUNT = 100_000

// The figures of docs/redis.md.
describeWithRedis('the memory of the server', () => {
  it('is about 380 bytes for a completed callback, and 510 for one that is being handled', async () => {
    const server = await RedisServer.start(['--appendonly', 'no'])
    const { client, close } = await CLIENTS['node-redis'](server.url)
    const store = new RedisIdempotencyStore({ client, logger: false })
    await completed(store, claimRequest())

    const before = await used(client)
    for (let i = 0; i < COUNT; i += 500)
      await Promise.all(Array.from({ length: 500 }, () => completed(store, claimRequest())))
    const perCompleted = ((await used(client)) - before) / COUNT
    const between = await used(client)
    for (let i = 0; i < COUNT; i += 500)
      await Promise.all(Array.from({ length: 500 }, () => claimOf(store, claimRequest())))
    const perClaimed = ((await used(client)) - between) / COUNT
    await close()
    await server.stop()

    process.stdout.write(
      `bytes per completed callback: ${perCompleted.toFixed()}, claimed: ${perClaimed.toFixed()}\n`,
    )
    expect(perCompleted).toBeLessThan(420)
    expect(perClaimed).toBeLessThan(600)
  }, 120_000)
})

async function used(client: NodeRedisClient): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(String(await client.sendCommand(['INFO', 'memory'])))![1])
}
