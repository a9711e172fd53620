import { randomUUID } from 'node:crypto'
import { timer } from '../../base/timeout.js'
import { checkServer } from './check-server.js'
import { awaitedMs, Connections, type Connection } from './connections.js'
import { warnIfNotDurable } from './durability.js'
import { busyError, closedError, inboxError } from './inbox-error.js'
import type { PostgresInboxSettings } from './options.js'
import { migrate } from './schema.js'
import {
  allOn,
  retryConflicts,
  transaction,
  type Transaction,
  type TransactionSettings,
} from './transaction.js'

type Work<Result> = (tx: Transaction) => Promise<Result>

/** Runs the transactions of one inbox, and brings the schema up to date before the first one. */
export class InboxDatabase {
  readonly connections: Connections
  readonly #settings: PostgresInboxSettings
  readonly #leases: LeaseConnection
  #ready: Promise<void> | undefined
  /** While the schema is being brought up to date. */
  #migrating: Connection | undefined

  constructor(settings: PostgresInboxSettings) {
    this.#settings = settings
    this.connections = new Connections(settings)
    this.#leases = new LeaseConnection(this.connections)
  }

  /** Safe to call twice, and again after it failed: the reason may be gone. */
  makeReady(): Promise<void> {
    return (this.#ready ??= this.#migrate().catch((error: unknown) => {
      this.#ready = undefined
      throw inboxError(error, this.#settings.schema)
    }))
  }

  /** On a connection of the pool. `awaitedUntil`: until when somebody waits for the result, by the monotonic clock. */
  async commit<Result>(work: Work<Result>, awaitedUntil = Infinity): Promise<Result> {
    return this.#run(() =>
      this.connections.use(
        (connection) => this.#transactionOn(connection, this.#settings, work, awaitedUntil),
        awaitedUntil,
      ),
    )
  }

  /** Runs one statement that is a transaction of its own, on a connection of the pool. */
  async statement<Result>(
    work: (all: Transaction['all']) => Promise<Result>,
    awaitedUntil: number,
  ): Promise<Result> {
    return this.#run(() =>
      this.connections.use((connection) => this.#statementOn(connection, work, awaitedUntil), awaitedUntil),
    )
  }

  async #statementOn<Result>(
    connection: Connection,
    work: (all: Transaction['all']) => Promise<Result>,
    awaitedUntil = Infinity,
  ): Promise<Result> {
    const all = allOn(connection)
    try {
      return await this.#limited(
        (mark) => work((sql, ...values) => all(`${mark} ${sql}`, ...values)),
        awaitedUntil,
      )
    } catch (error) {
      throw inboxError(connection.lost() ?? error, this.#settings.schema)
    }
  }

  #transactionOn<Result>(
    connection: Connection,
    settings: TransactionSettings,
    work: Work<Result>,
    awaitedUntil = Infinity,
  ): Promise<Result> {
    const commit = () => this.#limited((mark) => connection.query(`${mark} COMMIT`), awaitedUntil)
    return transaction(connection, settings, work, commit)
  }

  /**
   * Runs a statement that commits, with a mark that it must begin with. It is cancelled when it takes longer than twice
   * `busyTimeoutMs`, or when nobody waits for it any more. A limit of the server would have to be set by a statement before it, and does not cover a commit.
   */
  async #limited<Result>(run: (mark: string) => Promise<Result>, awaitedUntil: number): Promise<Result> {
    const { schema, busyTimeoutMs, environment } = this.#settings
    const limitMs = awaitedMs(awaitedUntil, environment.monotonic(), busyTimeoutMs, 2)
    const mark = `/* countersign ${randomUUID()} */`
    const progress = { isCancelled: false, hasEnded: false }
    const end = timer(limitMs, () => this.#cancel(mark, progress), { environment })
    try {
      const result = await run(mark)
      // If a commit that waits for a synchronous standby is cancelled, the server reports success although no standby has it.
      if (progress.isCancelled) throw busyError(schema, `the commit was not confirmed within ${limitMs} ms`)
      return result
    } finally {
      progress.hasEnded = true
      end()
    }
  }

  /**
   * Cancels a statement on the connection that is free first: all connections of the pool may be in use, and the one for leases may
   * run a slow statement too. If neither is free in time, the connection of the statement is given up. The server then notices it
   * when the statement has ended.
   */
  #cancel(mark: string, progress: { isCancelled: boolean; readonly hasEnded: boolean }): void {
    const send = async (connection: Connection) => {
      if (progress.isCancelled || progress.hasEnded) return
      progress.isCancelled = true
      // The text of a statement identifies it behind PgBouncer as well.
      await connection.query(CANCEL, [`${mark} %`])
    }
    this.#leases.run(send).catch(() => {})
    this.connections.use(send).catch(() => {})
  }

  /** Runs a transaction on the connection for leases. */
  async lease<Result>(work: Work<Result>): Promise<Result> {
    return this.#onLeases((connection, settings) => this.#transactionOn(connection, settings, work))
  }

  /**
   * Calls a lease function on the connection for leases: as one statement, or in a transaction if `work` resolves to undefined
   * because that is needed.
   */
  async leaseFunction<Result>(
    work: (all: Transaction['all'], settings: TransactionSettings) => Promise<Result | undefined>,
  ): Promise<Result> {
    return this.#onLeases(async (connection, settings) => {
      const result = await this.#statementOn(connection, (all) => work(all, settings))
      return result ?? (await this.#transactionOn(connection, settings, ({ all }) => work(all, settings)))!
    })
  }

  #onLeases<Result>(
    operation: (connection: Connection, settings: TransactionSettings) => Promise<Result>,
  ): Promise<Result> {
    const lockTimeoutMs = Math.min(this.#settings.busyTimeoutMs, LEASE_LOCK_TIMEOUT_MS)
    const settings = { ...this.#settings, lockTimeoutMs }
    return this.#run(() => this.#leases.run((connection) => operation(connection, settings)))
  }

  /** Brings the schema up to date first, and runs `attempt` again after a conflict. */
  async #run<Result>(attempt: () => Promise<Result>): Promise<Result> {
    await this.makeReady()
    try {
      return await retryConflicts(this.#settings.environment, attempt)
    } catch (error) {
      throw inboxError(error, this.#settings.schema)
    }
  }

  /** A pool of the user stays open. */
  async close(): Promise<void> {
    // It has no time limit, and may wait for another process.
    this.#migrating?.destroy(closedError(this.#settings.schema))
    await this.#leases.close()
    await this.connections.close()
  }

  async #migrate(): Promise<void> {
    const { schema, logger } = this.#settings
    await this.#leases.run(async (connection) => {
      this.#migrating = connection
      try {
        await checkServer(connection, schema)
        await migrate(connection, schema)
        await warnIfNotDurable(connection, logger)
      } catch (error) {
        const reason = inboxError(connection.lost() ?? error, schema)
        connection.destroy()
        throw reason
      } finally {
        this.#migrating = undefined
      }
    })
  }
}

const CANCEL =
  'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid()'

/** Shorter than for callbacks, because an entry that waits for a lock here delays all other entries of the worker. */
const LEASE_LOCK_TIMEOUT_MS = 500

/**
 * The one connection for claims, leases and ends. It stays checked out of the pool, so that handlers that use every other
 * connection of the pool cannot keep leases from being renewed. It is replaced when it breaks.
 */
class LeaseConnection {
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
