import type { Timer } from '../../base/environment.js'
import type { Connection, Connections } from './connections.js'
import { advisoryLock } from './schema.js'

/**
 * Tells all processes that entries may be due, by NOTIFY. That is done after the commit and not in the adding transaction: the
 * server lets transactions with a notification commit one after the other, and each would hold up the others for as long as
 * the disk takes. A notification that is lost costs the time until the next poll.
 */
export class Announcements {
  readonly #connections: Connections
  readonly #statement: string
  #isPending = false
  #announcing: Promise<void> | undefined
  #isClosed = false
  #endPause = (): void => {}

  constructor(connections: Connections) {
    this.#connections = connections
    this.#statement =
      `BEGIN; SET LOCAL synchronous_commit = off; SET LOCAL statement_timeout = 5000; ` +
      `NOTIFY ${channelOf(connections.options.schema)}; COMMIT`
  }

  /** The first call leads to a notification immediately. Several calls while it is being sent, or shortly afterwards, lead to one more. */
  announce(): void {
    this.#isPending = true
    this.#announcing ??= this.#announce().finally(() => (this.#announcing = undefined))
  }

  /** Resolves once what was announced has been sent. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#endPause()
    await this.#announcing
  }

  async #announce(): Promise<void> {
    while (this.#isPending) {
      this.#isPending = false
      let connection: Connection | undefined
      try {
        connection = await this.#connections.acquire()
        await connection.query(this.#statement)
        connection.release()
      } catch {
        connection?.destroy()
      }
      if (!this.#isClosed) await this.#pause()
    }
  }

  /** What is announced meanwhile takes one notification. Each one wakes every worker. */
  async #pause(): Promise<void> {
    const { environment } = this.#connections
    let timer: Timer | undefined
    await new Promise<void>((resolve) => {
      this.#endPause = resolve
      timer = environment.setTimeout(resolve, NOTIFY_INTERVAL_MS)
    })
    environment.clearTimeout(timer)
  }
}

const NOTIFY_INTERVAL_MS = 10

/** Listens for notifications while somebody watches, on a connection of its own. */
export class DueListener {
  readonly #connections: Connections
  readonly #watchers = new Set<() => void>()
  #connection: Connection | undefined
  #retry: Timer | undefined
  #failures = 0
  #isConnecting = false
  #isClosed = false

  constructor(connections: Connections) {
    this.#connections = connections
  }

  watch(onDue: () => void): () => void {
    const watcher = () => onDue()
    this.#watchers.add(watcher)
    void this.#connect()
    return () => {
      this.#watchers.delete(watcher)
      if (this.#watchers.size === 0) this.#disconnect()
    }
  }

  close(): void {
    this.#isClosed = true
    this.#watchers.clear()
    this.#disconnect()
  }

  async #connect(): Promise<void> {
    if (this.#connection || this.#isConnecting || this.#retry || this.#isClosed) return
    this.#isConnecting = true
    let connection: Connection | undefined
    try {
      connection = await this.#connections.acquire()
      const { client } = connection
      client.on('notification', this.#notify)
      client.on('end', this.#reconnect)
      client.on('error', this.#reconnect)
      await connection.query(`LISTEN ${channelOf(this.#connections.options.schema)}`)
      this.#isConnecting = false
      this.#connection = connection
      this.#failures = 0
      if (connection.lost()) this.#reconnect()
      else if (this.#watchers.size === 0) this.#disconnect()
      // There may have been notifications while nobody listened.
      else this.#notify()
    } catch {
      this.#isConnecting = false
      if (connection) this.#forget(connection)
      this.#tryAgain()
    }
  }

  readonly #notify = (): void => {
    for (const watcher of this.#watchers) watcher()
  }

  readonly #reconnect = (): void => {
    if (!this.#connection) return
    this.#forget(this.#connection)
    this.#connection = undefined
    this.#tryAgain()
  }

  /** After a time that grows, up to 30 s, so that not all processes connect at once to a server that has just started. */
  #tryAgain(): void {
    if (this.#isClosed || this.#watchers.size === 0 || this.#retry) return
    const { environment } = this.#connections
    const delayMs = Math.min(30_000, 100 * 2 ** this.#failures++) * (0.5 + environment.random() / 2)
    this.#retry = environment.setTimeout(() => {
      this.#retry = undefined
      void this.#connect()
    }, delayMs)
    this.#retry.unref()
  }

  #disconnect(): void {
    this.#connections.environment.clearTimeout(this.#retry)
    this.#retry = undefined
    const connection = this.#connection
    this.#connection = undefined
    if (connection) this.#forget(connection)
  }

  /** The connection is not given back to the pool, because it would continue to listen. */
  #forget(connection: Connection): void {
    const { client } = connection
    client.removeListener('notification', this.#notify)
    client.removeListener('end', this.#reconnect)
    client.removeListener('error', this.#reconnect)
    connection.destroy()
  }
}

/** Independent of the spelling of the schema's name, and never longer than a channel may be. */
function channelOf(schema: string): string {
  return `countersign_${BigInt.asUintN(64, advisoryLock(schema, 'due')).toString(16)}`
}
