import { Redis } from 'ioredis'
import { findProgram, freePort, ServerProcess, temporaryFolder } from './server-program.js'

const REDIS_SERVER = findProgram('redis-server')

/** Whether a Redis server can be started. If not, one line says how to install it. */
export const hasRedis = REDIS_SERVER !== undefined
if (!hasRedis)
  process.stderr.write('tests with Redis are skipped; to install it: apt-get install redis-server\n')

/** `describe`, skipped where Redis is not installed. Undefined outside of Jest, as in a benchmark. */
export const describeWithRedis = hasRedis ? globalThis.describe : globalThis.describe?.skip

/** The URL of a server that is to be used where tests do not need one of their own. */
const NAMED_SERVER = process.env['COUNTERSIGN_TEST_REDIS']

/** `describe` for tests that use `anyRedis`. */
export const describeWithAnyRedis = NAMED_SERVER ? globalThis.describe : describeWithRedis

/** The server that COUNTERSIGN_TEST_REDIS names, or else one that is started. It may hold other keys. */
export async function anyRedis(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  return NAMED_SERVER ? { url: NAMED_SERVER, stop: async () => {} } : RedisServer.start()
}

/** A Redis server on the loopback interface, with its data in a temporary folder. */
export class RedisServer {
  readonly port: number
  readonly #folder = temporaryFolder()
  readonly #settings: readonly string[]
  #process: ServerProcess | undefined

  private constructor(port: number, settings: readonly string[]) {
    this.port = port
    this.#settings = settings
  }

  /** `settings` are command-line options; by default every write is synced and nothing is evicted. */
  static async start(
    settings: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always'],
    port?: number,
  ): Promise<RedisServer> {
    for (let tries = 1; ; tries++) {
      const server = new RedisServer(port ?? (await freePort()), settings)
      try {
        await server.restart()
        return server
      } catch (error) {
        // Another process has taken the port since it was free.
        if (port !== undefined || tries === 5 || !String(error).includes('Address already in use'))
          throw error
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts the server on the data that it has. */
  async restart(): Promise<void> {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', ...this.#settings]
    this.#process = new ServerProcess(REDIS_SERVER!, args, { cwd: this.#folder })
    await this.#process.ready(async () => (await this.command('PING')) === 'PONG')
  }

  /** Ends the server as a crash does. */
  async kill(): Promise<void> {
    await this.#process!.stop('SIGKILL')
  }

  /** A server that writes its first append-only file, as a new replica does, ignores the signal: it is sent until the server ends. */
  async stop(): Promise<void> {
    const server = this.#process!
    const sending = setInterval(() => void server.stop('SIGTERM'), 100)
    await server.stop('SIGTERM').finally(() => clearInterval(sending))
  }

  /** The reply to a command. A client of ioredis is made in less time than one of node-redis. */
  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis(this.port, '127.0.0.1', {
      retryStrategy: () => null,
      enableReadyCheck: false,
      // The timer goes on after a connection that was refused, and keeps the process from its end.
      disconnectTimeout: 0,
    })
    // The command rejects too.
    client.on('error', () => {})
    try {
      return await client.call(name, ...args)
    } finally {
      client.disconnect()
    }
  }

  /** How many keys of this server match a pattern. */
  async count(pattern: string): Promise<number> {
    return ((await this.command('KEYS', pattern)) as unknown[]).length
  }

  /** How many connections a user has. */
  async connections(user: string): Promise<number> {
    const list = String(await this.command('CLIENT', 'LIST'))
    return list.split('\n').filter((line) => line.includes(` user=${user} `)).length
  }
}
