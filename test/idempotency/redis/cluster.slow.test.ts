import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from '../../../src/redis.js'
import { claimOf, claimRequest, completed, stateOf } from '../../support/claim-requests.js'
import { RedisCluster } from '../../support/redis-cluster.js'
import { describeWithRedis, type RedisServer } from '../../support/redis-server.js'

const CLIENTS = {
  'node-redis': async ({ nodes }: RedisCluster) => {
    const client = createCluster({ rootNodes: nodes.map(({ url }) => ({ url })) })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  ioredis: async ({ nodes }: RedisCluster) => {
    const client = new Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
}

describeWithRedis('on a Redis Cluster', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await RedisCluster.start()
  })
  afterAll(() => cluster.stop())

  describe.each(['node-redis', 'ioredis'] as const)('with %s', (name) => {
    let open: { client: RedisIdempotencyStoreOptions['client']; close(): void }
    beforeAll(async () => {
      open = await CLIENTS[name](cluster)
    })
    afterAll(() => open.close())

    // Their slots are on different nodes.
    it.each(['a', 'b', 'c', 'd', 'e', 'f'])('works with the prefix %s', async (prefix) => {
      const store = new RedisIdempotencyStore({
        client: open.client,
        prefix: `${name}-${prefix}`,
        logger: false,
      })
      await store.open()
      const request = claimRequest()
      await (await claimOf(store, request)).release()
      const claim = await claimOf(store, request)
      expect(claim.attempt).toBe(2)
      const repeat = { ...request, signature: claimRequest().signature }
      expect(await stateOf(store, repeat)).toBe('in-progress')
      expect(await claim.complete()).toBe(true)
      expect(await stateOf(store, request)).toBe('completed')
      expect(await stateOf(store, { ...repeat, key: claimRequest().key })).toBe('replay')
    })

    it('gives a key to exactly one of many', async () => {
      const store = new RedisIdempotencyStore({ client: open.client, logger: false })
      const request = claimRequest()
      const states = await Promise.all(Array.from({ length: 300 }, () => stateOf(store, request)))
      expect(states.filter((state) => state === 'claimed')).toHaveLength(1)
    })

    it.each([
      ['the keys are being moved', 'inBoth', /errorstat_TRYAGAIN/],
      // Both clients follow 16 redirections.
      ['each node refers to the other', 'inNone', /errorstat_MOVED:count=[1-9]\d/],
    ] as const)('records the end of a claim although %s', async (_while, phase, refused) => {
      const prefix = `${name}-${phase}`
      const store = new RedisIdempotencyStore({ client: open.client, prefix, logger: false })
      const request = claimRequest()
      const claim = await claimOf(store, request)
      let ending: Promise<boolean>
      await cluster.moveSlotOf(`{${prefix}}`, {
        [phase]: async (node: RedisServer) => {
          await node.command('CONFIG', 'RESETSTAT')
          ending = Promise.resolve(claim.complete())
          let errors: string
          do errors = String(await node.command('INFO', 'errorstats'))
          while (!refused.test(errors))
        },
      })
      expect(await ending!).toBe(true)
      expect(await stateOf(store, request)).toBe('completed')
    })

    it('refuses a claim while each node refers to the other', async () => {
      const prefix = `${name}-refused`
      const store = new RedisIdempotencyStore({ client: open.client, prefix, logger: false })
      await completed(store, claimRequest())
      const inNone = async () => {
        const message = expect.stringMatching(/^Too many Cluster redirections.*: each node says/)
        const refusal = expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE', message })
        await expect(store.claim(claimRequest())).rejects.toEqual(refusal)
      }
      await cluster.moveSlotOf(`{${prefix}}`, { inNone })
      expect(await stateOf(store, claimRequest())).toBe('claimed')
    })

    it('keeps all keys of a store on one node', async () => {
      const store = new RedisIdempotencyStore({ client: open.client, prefix: 'one-node', logger: false })
      for (let i = 0; i < 20; i++) await completed(store, claimRequest())
      const counts = await Promise.all(cluster.nodes.map((node) => node.count('{one-node}:*')))
      expect(counts.filter((count) => count > 0)).toHaveLength(1)
    })
  })
})
