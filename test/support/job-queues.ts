import { randomUUID } from 'node:crypto'
import {
  createPostgresBackend,
  Queue,
  Worker,
  type ConnectionOptions,
  type Processor,
  type WorkerOptions,
} from 'bullmq'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { ForwardedCallback } from '../../src/bullmq.js'
import { hasPostgres, PostgresServer, QUICK_SETTINGS } from './postgres-server.js'
import { hasRedis, RedisServer } from './redis-server.js'
import { TcpProxy } from './tcp-proxy.js'

export type TestQueue = Queue<ForwardedCallback>

/** A server with BullMQ queues on it. */
export interface QueueEngine {
  readonly url: string
  /** A queue of its own unless it is named. */
  queue(name?: string): TestQueue
  worker(
    queue: TestQueue,
    processor: Processor<ForwardedCallback, unknown>,
    options?: Omit<WorkerOptions, 'connection'>,
  ): Worker
  /** Ends the server as a crash does. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** Cuts all connections of queues and workers. What they have sent arrives, and the answers are lost. */
  cut(): void
  /** Closes the queues and workers. Those that stay open connect again and again while the server is gone. */
  closeQueues(): Promise<void>
  /** Closes the queues and workers, and stops the server. */
  close(): Promise<void>
}

export const ENGINES: readonly { name: string; installed: boolean; start(): Promise<QueueEngine> }[] = [
  { name: 'Redis with ioredis', installed: hasRedis, start: () => onRedis(ioredis) },
  { name: 'Redis with node-redis', installed: hasRedis, start: () => onRedis(nodeRedis) },
  { name: 'PostgreSQL', installed: hasPostgres, start: onPostgres },
]

interface RedisConnection {
  readonly connection: ConnectionOptions
  close(): void
}

function ioredis(url: string): RedisConnection {
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  client.on('error', () => {})
  return { connection: client, close: () => client.disconnect() }
}

function nodeRedis(url: string): RedisConnection {
  const client = createClient({ url, socket: { reconnectStrategy: () => 20 } })
  client.on('error', () => {})
  const connected = client.connect().catch(() => {})
  return {
    connection: client,
    close: () => void connected.then(() => client.isOpen && client.destroy()),
  }
}

async function onRedis(connect: (url: string) => RedisConnection): Promise<QueueEngine> {
  const server = await RedisServer.start()
  const proxy = await TcpProxy.start(server.port)
  const url = `redis://127.0.0.1:${proxy.port}`
  const opened = new Opened()
  return {
    url,
    queue(name = randomUUID()) {
      const { connection, close } = connect(url)
      opened.add(close)
      return opened.queue(new Queue(name, { connection }))
    },
    worker({ name }, processor, options) {
      const { connection, close } = connect(url)
      const worker = new Worker(name, processor, { drainDelay: 1, ...options, connection })
      // Once the worker is closed, BullMQ does not listen to the errors of a node-redis client that stays open.
      worker.once('closed', close)
      return opened.worker(worker)
    },
    ...controlsOf(server, proxy, opened),
  }
}

async function onPostgres(): Promise<QueueEngine> {
  const server = await PostgresServer.start(QUICK_SETTINGS)
  const proxy = await TcpProxy.start(server.port)
  const connectionString = (await server.createDatabase()).replace(`:${server.port}/`, `:${proxy.port}/`)
  const connection = { connectionString, migrate: true, max: 4 }
  const opened = new Opened()
  return {
    url: connectionString,
    queue: (name = randomUUID()) =>
      opened.queue(new Queue(name, { connection }, createPostgresBackend) as unknown as TestQueue),
    worker: ({ name }, processor, options) =>
      opened.worker(
        new Worker(name, processor, { ...options, connection }, createPostgresBackend) as unknown as Worker,
      ),
    ...controlsOf(server, proxy, opened),
  }
}

function controlsOf(server: RedisServer | PostgresServer, proxy: TcpProxy, opened: Opened) {
  return {
    kill: () => server.kill(),
    restart: () => server.restart(),
    cut: () => proxy.cut(),
    closeQueues: () => opened.close(),
    async close() {
      await opened.close()
      await proxy.stop()
      await server.stop()
    },
  }
}

/** What has to be closed, in the order in which it was opened. */
class Opened {
  readonly #closing: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#closing.push(close)
  }

  queue(queue: TestQueue): TestQueue {
    // Without a listener BullMQ writes to the console that the server is out of reach.
    queue.on('error', () => {})
    this.add(() => queue.close())
    return queue
  }

  worker(worker: Worker): Worker {
    worker.on('error', () => {})
    this.add(() => worker.close(true))
    return worker
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).toReversed()) await close()
  }
}
