import { once } from 'node:events'
import { Redis as IoRedis } from 'ioredis'
import { createClient } from 'redis'
import type { IoRedisClient, NodeRedisClient } from '../../src/idempotency/redis/redis-client.js'

export interface OpenClient<Client> {
  readonly client: Client
  close(): Promise<void>
}

/** Each kind of client that a store takes, by name, connected to a server. */
export const CLIENTS = {
  'node-redis': async (url: string): Promise<OpenClient<NodeRedisClient>> => {
    const client = createClient({ url, socket: { reconnectStrategy: 20 } })
    // The client throws what nobody listens to; a test sees it in the commands that reject.
    client.on('error', () => {})
    await client.connect()
    return { client, close: async () => client.destroy() }
  },
  ioredis: async (url: string): Promise<OpenClient<IoRedisClient>> => {
    const client = new IoRedis(url, { lazyConnect: true, retryStrategy: () => 20 })
    client.on('error', () => {})
    await client.connect()
    const close = async () => {
      // While it reconnects, it ends without the event.
      const ended = client.status === 'ready' ? once(client, 'end') : undefined
      client.disconnect()
      await ended
    }
    return { client, close }
  },
} as const

type ClientName = keyof typeof CLIENTS
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]
