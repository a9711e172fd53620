import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { createReceiver } from '../../src/index.js'
import { RedisIdempotencyStore } from '../../src/redis.js'
import { subscription } from '../support/subscription.js'

const sentinel = { name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 26_379 }] }

export const stores = () => [
  new RedisIdempotencyStore({ client: createClient() }),
  new RedisIdempotencyStore({ client: createClient({ RESP: 2 }) }),
  new RedisIdempotencyStore({ client: createClientPool() }),
  new RedisIdempotencyStore({ client: createCluster({ rootNodes: [] }) }),
  new RedisIdempotencyStore({ client: createSentinel(sentinel) }),
  new RedisIdempotencyStore({ client: new Redis() }),
  new RedisIdempotencyStore({ client: new Cluster([]) }),
  // @ts-expect-error a URL is no client
  new RedisIdempotencyStore({ client: 'redis://127.0.0.1' }),
  // @ts-expect-error without a client there is nothing to use
  new RedisIdempotencyStore({}),
]

export const receiver = () => createReceiver({ subscriptions: [subscription], store: stores()[0] })
