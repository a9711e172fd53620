import { SYSTEM, type Environment } from '../../base/environment.js'
import type { CountersignError } from '../../base/errors.js'
import { textProperty } from '../../base/foreign-value.js'
import { timer, withTimeout } from '../../base/timeout.js'
import {
  createPool,
  type OwnPool,
  type PostgresClient,
  type PostgresPool,
  type PostgresResult,
} from './driver.js'
import { busyError, closedError, inboxError, isFault, isReadOnly, unreachableError } from './inbox-error.js'

interface ConnectionsOptions {
  /** The user's own pool, or what to make one with. */
  readonly pool: PostgresPool | undefined
  readonly connectionString: string | undefined
  readonly maxConnections: number
  readonly schema: string
  /** How long a connection is waited for. */
  readonly busyTimeoutMs: number
  /** @default that of this process */
  readonly environment?: Environment | undefined
}

/** A connection that is checked out of the pool. */
export interface Connection {
  readonly client: PostgresClient
  /**
   * Sends a query. The connection is given up if the answer does not come within three times `busyTimeoutMs`, or once nobody waits
   * for it, as from a machine that is gone.
   */
  query<Row>(sql: string, values?: unknown[]): Promise<PostgresResult<Row>>
  /** Why the connection is lost, if it is. */
  readonly lost: () => Error | undefined
  /** Ends the connection, as it may be in any state. What runs on it fails with `reason`. */
  destroy(reason?: CountersignError): void
  /** Gives the connection back; ends it if it is lost. */
  release(): void
}

/** Checks connections out of the pool, in bounded time. None of their errors ends the process. */
export class Connections {
  readonly options: ConnectionsOptions
  readonly environment: Environment
  readonly #all = new Set<Connection>()
  /** The errors of clients that were lost before they were handed over. */
  readonly #earlyErrors = new WeakMap<PostgresClient, Error>()
  /** When clients were last known to be connected, by the monotonic clock. */
  readonly #answeredAt = new WeakMap<PostgresClient, number>()
  /** When the latest query was sent that had no answer. */
  #silentSince = 0
  #pool: Promise<PostgresPool> | undefined
  #ownPool: OwnPool | undefined
  #isClosed = false

  constructor(options: ConnectionsOptions) {
    this.options = options
    this.environment = options.environment ?? SYSTEM
  }

  /**
   * `awaitedUntil`: until when somebody waits for the queries, by the monotonic clock.
   * @throws CountersignError ERR_INBOX_BUSY, ERR_CLOSED; or what the driver throws
   */
  async acquire(awaitedUntil = Infinity): Promise<Connection> {
    const { schema } = this.options
    if (this.#isClosed) throw closedError(schema)
    const pool = await (this.#pool ??= this.#openPool())
    const client = await connectWithin(pool, this.options, this.environment).catch((error: unknown) => {
      // The pool refuses what still waits for a connection when it is ended.
      throw this.#isClosed ? closedError(schema) : error
    })
    const connection = this.#guard(client, awaitedUntil)
    if (this.#isClosed) {
      connection.release()
      throw closedError(schema)
    }
    // Another connection did not answer since. The network may have lost all of them, and each would cost a time limit.
    if ((this.#answeredAt.get(client) ?? 0) < this.#silentSince) {
      connection.destroy()
      return this.acquire(awaitedUntil)
    }
    // The application has given it back within a transaction, which may never be committed: what is stored on it would be lost.
    if (['T', 'E'].includes(client.getTransactionStatus?.() ?? 'I'))
      await connection.query('ROLLBACK').catch(() => connection.destroy())
    return connection
  }

  /** Runs `operation` on a connection of the pool. Throws as `acquire`, and what `operation` throws. */
  async use<Result>(
    operation: (connection: Connection) => Promise<Result>,
    awaitedUntil?: number,
  ): Promise<Result> {
    const connection = await this.acquire(awaitedUntil)
    try {
      return await operation(connection)
    } finally {
      connection.release()
    }
  }

  /** Ends the pool if it is the inbox's own. Every connection must have been given back. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const connection of this.#all) connection.destroy(closedError(this.options.schema))
    const pool = await this.#pool?.catch(() => undefined)
    if (!this.#ownPool) {
      pool?.removeListener('error', ignore)
      pool?.removeListener('connect', this.#guardNew)
    }
    // It waits for the server, which may not answer any more.
    if (this.#ownPool)
      await withTimeout(this.#ownPool.end(), this.options.busyTimeoutMs, 'the pool', {
        environment: this.environment,
      }).catch(ignore)
  }

  async #openPool(): Promise<PostgresPool> {
    try {
      const pool = this.options.pool ?? (await this.#createPool())
      // The error of a connection that breaks while it is idle. Without a listener it would end the process.
      pool.on('error', ignore)
      pool.on('connect', this.#guardNew)
      return pool
    } catch (error) {
      this.#pool = undefined
      throw error
    }
  }

  async #createPool(): Promise<PostgresPool> {
    const { maxConnections, busyTimeoutMs } = this.options
    const connectionString = this.options.connectionString!
    this.#ownPool = await createPool({ connectionString, maxConnections, connectTimeoutMs: busyTimeoutMs })
    return this.#ownPool
  }

  /**
   * pg-pool hands a new client over through a promise. Until that has been seen, nobody listens to the client. If the server
   * ends the session in the packet that ends the login, the error would end the process.
   */
  readonly #guardNew = (client: PostgresClient): void => {
    this.#answeredAt.set(client, this.environment.monotonic())
    const onError = (error: Error) => void this.#earlyErrors.set(client, error)
    client.on('error', onError)
    this.environment.setImmediate(() => client.removeListener('error', onError))
  }

  #guard(client: PostgresClient, awaitedUntil: number): Connection {
    const { environment } = this
    const { schema, busyTimeoutMs } = this.options
    // The statement is cancelled first, as the server notices the loss of a connection only when it has ended.
    const giveUpAt = awaitedUntil + cancelMs(busyTimeoutMs)
    const earlyError = this.#earlyErrors.get(client)
    let lost = earlyError && unreachableError(schema, earlyError.message, earlyError)
    let isReleased = false
    const onError = (error: Error) => (lost ??= unreachableError(schema, error.message, error))
    // A commit whose wait for a synchronous standby somebody cancels has this warning, and is reported as successful.
    const onNotice = (notice: object) => {
      if (textProperty(notice, 'routine') === 'SyncRepWaitForLSN')
        lost ??= busyError(schema, 'no synchronous standby has confirmed the commit')
    }
    const onEnd = () => (lost ??= unreachableError(schema, 'the connection has ended'))
    const end = (error?: Error) => {
      if (isReleased) return
      isReleased = true
      this.#all.delete(connection)
      client.release(error ?? false)
      client.removeListener('end', onEnd)
      client.removeListener('notice', onNotice)
      // A connection that was ended may still report an error, which would end the process without a listener.
      if (!error) client.removeListener('error', onError)
    }
    client.on('error', onError)
    client.on('end', onEnd)
    client.on('notice', onNotice)
    const connection: Connection = {
      client,
      query: <Row>(sql: string, values?: unknown[]) =>
        new Promise<PostgresResult<Row>>((resolve, reject) => {
          const sentAt = this.environment.monotonic()
          const limitMs = awaitedMs(giveUpAt, sentAt, busyTimeoutMs, 3)
          const cancel = timer(
            limitMs,
            () => {
              this.#silentSince = Math.max(this.#silentSince, sentAt)
              lost ??= unreachableError(schema, `no answer within ${limitMs} ms`)
              connection.destroy()
              reject(lost)
            },
            { environment },
          )
          const querying = lost ? Promise.reject(lost) : client.query(sql, values)
          const onError = (error: unknown) => {
            this.#answeredAt.set(client, this.environment.monotonic())
            // It leads to a standby. As long as it is used, the inbox would not find the primary server under the same address.
            if (isReadOnly(error)) lost ??= inboxError(error, schema) as CountersignError
            // The error of pg if the pool has a `query_timeout`. It has no code, and the server may still run the query.
            if (textProperty(error, 'message') !== 'Query read timeout') return reject(error)
            lost ??= busyError(schema, 'no answer within the query_timeout of the pool')
            connection.destroy()
            reject(lost)
          }
          const onResult = (result: PostgresResult) => {
            this.#answeredAt.set(client, this.environment.monotonic())
            if (lost) reject(lost)
            else resolve(result as PostgresResult<Row>)
          }
          querying.then(onResult, onError).finally(cancel)
        }),
      lost: () => lost,
      destroy: (reason) => end((lost ??= reason ?? unreachableError(schema, 'the connection was given up'))),
      release: () => end(lost),
    }
    this.#all.add(connection)
    return connection
  }
}

/**
 * How long something may take, in milliseconds: until nobody waits for it any more, and at most so many times `busyTimeoutMs`. What
 * begins later has a moment, because a callback is stored for the sender's repeat also then.
 */
export function awaitedMs(until: number, now: number, busyTimeoutMs: number, times: number): number {
  return Math.ceil(Math.min(times * busyTimeoutMs, Math.max(until - now, cancelMs(busyTimeoutMs))))
}

/** How long a cancelled statement has to end, in milliseconds. */
function cancelMs(busyTimeoutMs: number): number {
  return busyTimeoutMs / 4
}

function ignore(): void {}

function connectWithin(
  pool: PostgresPool,
  { busyTimeoutMs: limitMs, schema }: ConnectionsOptions,
  environment: Environment,
): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const cancel = timer(
      limitMs,
      () => {
        isLate = true
        reject(busyError(schema, noConnection(limitMs)))
      },
      { environment },
    )
    pool.connect().then(
      (client) => {
        cancel()
        if (isLate) client.release()
        else resolve(client)
      },
      (error: unknown) => {
        cancel()
        // The error of pg-pool if no connection was free within its own time limit.
        const isTimeout = /timeout exceeded when trying to connect/.test(String(error))
        if (isTimeout) reject(busyError(schema, noConnection(limitMs)))
        // The driver gives some errors no code, such as that a password or TLS is missing.
        else
          reject(
            isFault(error) ? error : unreachableError(schema, textProperty(error, 'message') ?? '', error),
          )
      },
    )
  })
}

function noConnection(limitMs: number): string {
  return `no connection within ${limitMs} ms: all those of the pool are in use, or the server does not answer`
}
