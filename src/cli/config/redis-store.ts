import type { RedisClientType } from 'redis'
import { CountersignError } from '../../base/errors.js'
import { textProperty } from '../../base/foreign-value.js'
import { settledWithin, withTimeout } from '../../base/timeout.js'
import type { NodeRedisClient } from '../../idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../idempotency/redis/redis-store.js'
import type { IdempotencyStore } from '../../idempotency/store.js'
import type { Logger } from '../../logging/logger.js'
import { optionalPackage } from './optional-package.js'
import type { RedisSetting } from './redis-setting.js'

export interface ConfiguredStore extends IdempotencyStore {
  /** Connects, and checks the server. */
  open(): Promise<void>
  /** Address and version of the server, without the password. The store has to be open. */
  describe(): Promise<string>
  close(): Promise<void>
}

/** The store of a setting. Connects when it is opened, within `limitMs`, and is closed within it. */
export function redisStore(
  { url, ...options }: RedisSetting,
  logger: Logger,
  limitMs: number,
  loadRedis: () => Promise<Pick<typeof import('redis'), 'createClient'>> = () => import('redis'),
): ConfiguredStore {
  let client: RedisClientType | undefined
  const connected = () => {
    if (client) return client
    throw new CountersignError('ERR_STORE_UNAVAILABLE', `${place(url)} is not connected`)
  }
  // Options are checked now, and the client is there when the store is opened.
  const lateClient: NodeRedisClient = {
    sendCommand: async (args, commandOptions) => connected().sendCommand(args, commandOptions),
  }
  const inner = new RedisIdempotencyStore({ ...options, client: lateClient, logger })
  const connectAndCheck = async () => {
    client ??= createdClient(await optionalPackage('store.redis', 'redis', loadRedis), url, logger)
    if (!client.isOpen) await client.connect()
    await inner.open()
  }
  return {
    retentionMs: inner.retentionMs,
    claim: async (request) => inner.claim(request),
    async open() {
      try {
        // A server that is paused accepts connections and does not answer.
        await withTimeout(connectAndCheck(), limitMs, 'its answer', { keepsAlive: true })
      } catch (error) {
        if (error instanceof CountersignError && error.code !== 'ERR_STORE_UNAVAILABLE') throw error
        const reason = textProperty(error, 'message')?.replace(/\.$/, '')
        const message = `${place(url)} cannot be used: ${reason}. Start it, or correct store.redis.url.`
        throw new CountersignError('ERR_STORE_UNAVAILABLE', message, { cause: error })
      }
    },
    async describe() {
      const version = /^redis_version:(.*?)\r?$/m.exec(await connected().info('server'))?.[1]
      return `${place(url)}, version ${version ?? 'unknown'}`
    },
    async close() {
      const open = client
      client = undefined
      // Without a connection there is nothing to wait for. The commands that a connection waits for may never be answered.
      if (open?.isReady) await settledWithin(open.close(), limitMs)
      else if (open?.isOpen) open.destroy()
    },
  }
}

function createdClient(
  { createClient }: Pick<typeof import('redis'), 'createClient'>,
  url: URL,
  logger: Logger,
): RedisClientType {
  let hasConnected = false
  let isLost = false
  const client = createClient({
    url: url.href,
    socket: {
      // A start without a connection fails with a message. A connection that was lost later is retried without a limit.
      reconnectStrategy: (retries, cause) => (hasConnected ? Math.min(50 * (retries + 1), 2_000) : cause),
    },
  }) as RedisClientType
  // Each attempt to reconnect fails with an error of its own.
  client.on('error', (error: unknown) => {
    if (hasConnected && !isLost)
      logger.warn({ err: error }, `the connection to ${place(url)} was lost; reconnecting`)
    isLost = true
  })
  client.on('ready', () => {
    if (hasConnected && isLost) logger.info({}, `${place(url)} is back`)
    hasConnected = true
    isLost = false
  })
  return client
}

const place = ({ hostname, port }: URL) => `the Redis server ${hostname}:${port || '6379'}`
