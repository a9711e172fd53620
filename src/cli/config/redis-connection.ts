import type { RedisClientType } from 'redis'
import { CountersignError } from '../../base/errors.js'
import { textProperty } from '../../base/foreign-value.js'
import { settledWithin, timer } from '../../base/timeout.js'
import type { NodeRedisClient } from '../../idempotency/redis/redis-client.js'
import type { Logger } from '../../logging/logger.js'

type RedisPackage = Pick<typeof import('redis'), 'createClient'>

/**
 * The connection to the primary server under an address. One that leads to a replica, as after a failover that closed no
 * connection, or that does not answer within `limitMs` is replaced by a new one.
 */
export class RedisConnection implements NodeRedisClient {
  readonly #url: URL
  readonly #logger: Logger
  readonly #limitMs: number
  #redis: RedisPackage | undefined
  #client: RedisClientType | undefined
  #hasConnected = false
  #isServed = false
  /** How often in succession the address led to a replica. */
  #replicas = 0
  #retry: NodeJS.Timeout | undefined

  constructor(url: URL, logger: Logger, limitMs: number) {
    this.#url = url
    this.#logger = logger
    this.#limitMs = limitMs
  }

  /** Whether the connection leads to a primary, as far as is known. */
  get isServed(): boolean {
    return this.#isServed
  }

  /** Rejects if there is no connection, or one to a replica. */
  async open(redis: RedisPackage): Promise<void> {
    if (this.#client?.isOpen) return
    this.#redis = redis
    const client = (this.#client = this.#createClient(redis))
    await client.connect()
    if (await this.#isReplica()) {
      await this.close()
      throw new Error('it is a replica')
    }
    this.#hasConnected = true
    this.#isServed = true
  }

  async sendCommand(...command: Parameters<NodeRedisClient['sendCommand']>): Promise<unknown> {
    const client = this.#client
    if (!client) throw new CountersignError('ERR_STORE_UNAVAILABLE', `${place(this.#url)} is not connected`)
    // A command that waits for a connection has no answer to wait for.
    const cancel = client.isReady
      ? timer(this.#limitMs, () => this.#replace(client, 'does not answer'), { keepsAlive: false })
      : undefined
    try {
      return await client.sendCommand(...command)
    } catch (error) {
      if (textProperty(error, 'message')?.startsWith('READONLY')) this.#onReplica(client)
      // The end of a claim: the connection was replaced before it was answered. The end may be sent twice.
      else if (this.#client && client !== this.#client && !command[1]?.abortSignal)
        return await this.sendCommand(...command)
      throw error
    } finally {
      cancel?.()
    }
  }

  async info(): Promise<string> {
    return String(await this.sendCommand(['INFO', 'server']))
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    this.#isServed = false
    clearTimeout(this.#retry)
    // Without a connection there is nothing to wait for. The commands that a connection waits for may never be answered.
    if (client?.isReady) await settledWithin(client.close(), this.#limitMs)
    else if (client?.isOpen) client.destroy()
  }

  #createClient({ createClient }: RedisPackage): RedisClientType {
    const client = createClient({
      url: this.#url.href,
      socket: {
        // A start without a connection fails with a message. A connection that was lost later is retried without a limit.
        reconnectStrategy: (retries, cause) => (this.#hasConnected ? backoff(retries) : cause),
      },
    }) as RedisClientType
    // Each attempt to reconnect fails with an error of its own.
    client.on('error', (error: unknown) => {
      if (client === this.#client && this.#hasConnected) this.#lose({ err: error }, 'was lost')
    })
    client.on('ready', () => {
      if (client === this.#client && this.#hasConnected) void this.#check(client)
    })
    return client
  }

  #lose(fields: object, what: string): void {
    if (this.#isServed)
      this.#logger.warn(fields, `the connection to ${place(this.#url)} ${what}; reconnecting`)
    this.#isServed = false
  }

  async #check(client: RedisClientType): Promise<void> {
    const isReplica = await this.#isReplica()
    if (client !== this.#client || !client.isReady) return
    if (isReplica) return this.#onReplica(client)
    this.#replicas = 0
    if (!this.#isServed) this.#logger.info({}, `${place(this.#url)} is back`)
    this.#isServed = true
  }

  #onReplica(client: RedisClientType): void {
    if (client !== this.#client || !this.#hasConnected) return
    this.#lose({}, 'leads to a replica')
    // The address may lead to it for a while. Each command that it refuses must not cost a connection.
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      this.#replace(client, 'leads to a replica')
    }, backoff(this.#replicas++)).unref()
  }

  /** Connects anew. The commands that wait for an answer are rejected. */
  #replace(client: RedisClientType, why: string): void {
    if (client !== this.#client || !client.isReady || !this.#hasConnected) return
    this.#lose({}, why)
    this.#client = this.#createClient(this.#redis!)
    // The errors are logged. It is rejected when the client is closed.
    this.#client.connect().catch(() => {})
    client.destroy()
  }

  /** False if the server does not say, because the user may not ask. */
  async #isReplica(): Promise<boolean> {
    const info = String(await this.sendCommand(['INFO', 'replication']).catch(() => ''))
    return /^role:slave\r?$/m.test(info) && !/^slave_read_only:0\r?$/m.test(info)
  }
}

const backoff = (retries: number) => Math.min(50 * (retries + 1), 2_000)

/** The name of the server, without the password. */
export const place = ({ hostname, port }: URL) => `the Redis server ${hostname}:${port || '6379'}`
