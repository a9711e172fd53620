import { CountersignError } from '../../base/errors.js'
import { textProperty } from '../../base/foreign-value.js'
import { withTimeout } from '../../base/timeout.js'
import { RedisIdempotencyStore } from '../../idempotency/redis/redis-store.js'
import type { IdempotencyStore } from '../../idempotency/store.js'
import type { Logger } from '../../logging/logger.js'
import { optionalPackage } from './config-file.js'
import { place, RedisConnection } from './redis-connection.js'
import type { RedisSetting } from './redis-setting.js'

export interface ConfiguredStore extends IdempotencyStore {
  /** Whether the server takes claims, as far as is known. */
  readonly isReady: boolean
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
  // Options are checked now, and the connection is there when the store is opened.
  const connection = new RedisConnection(url, logger, limitMs)
  const inner = new RedisIdempotencyStore({ ...options, client: connection, logger })
  const connectAndCheck = async () => {
    await connection.open(await optionalPackage('store.redis', 'redis', loadRedis))
    await inner.open()
  }
  return {
    retentionMs: inner.retentionMs,
    get isReady() {
      return connection.isServed
    },
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
      const version = /^redis_version:(.*?)\r?$/m.exec(await connection.info())?.[1]
      return `${place(url)}, version ${version ?? 'unknown'}`
    },
    close: () => connection.close(),
  }
}
