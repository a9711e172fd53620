import type { Connection, Connections } from './connections.js'

/**
 * The one connection for claims, leases and ends. It stays checked out of the pool, so that handlers that use every other
 * connection of the pool cannot keep leases from being renewed. It is replaced when it breaks.
 */
export class LeaseConnection {
  readonly #connections: Connections
  #connection: Connection | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** Runs one operation after the other. */
  run<Result>(operation: (connection: Connection) => Promise<Result>): Promise<Result> {
    const running = this.#last.then(async () => operation(await this.#open()))
    this.#last = running.catch(() => {})
    return running
  }

  /** Waits for the operations that were begun before. */
  async close(): Promise<void> {
    await this.#last
    this.#connection?.release()
    this.#connection = undefined
  }

  async #open(): Promise<Connection> {
    if (this.#connection?.lost()) {
      this.#connection.release()
      this.#connection = undefined
    }
    return (this.#connection ??= await this.#connections.acquire())
  }
}
