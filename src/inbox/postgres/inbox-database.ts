import { randomUUID } from 'node:crypto'
import { timer } from '../../base/timeout.js'
import { checkServer } from './check-server.js'
import { Connections, type Connection } from './connections.js'
import { warnIfNotDurable } from './durability.js'
import { inboxError } from './inbox-error.js'
import { LeaseConnection } from './lease-connection.js'
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
type OnConnection = (query: (connection: Connection) => Promise<unknown>) => Promise<unknown>

/** Runs the transactions of one inbox, and brings the schema up to date before the first one. */
export class InboxDatabase {
  readonly connections: Connections
  readonly #settings: PostgresInboxSettings
  readonly #leases: LeaseConnection
  #ready: Promise<void> | undefined

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

  /** On a connection of the pool. */
  async commit<Result>(work: Work<Result>): Promise<Result> {
    await this.makeReady()
    return retryConflicts(async () => {
      const connection = await this.#acquire()
      try {
        return await transaction(connection, this.#settings, work)
      } finally {
        connection.release()
      }
    })
  }

  /** Runs one statement that is a transaction of its own, on a connection of the pool. */
  async statement<Result>(work: (all: Transaction['all']) => Promise<Result>): Promise<Result> {
    await this.makeReady()
    return retryConflicts(async () => {
      const connection = await this.#acquire()
      try {
        return await this.#statementOn(connection, this.#onLeaseConnection, work)
      } finally {
        connection.release()
      }
    })
  }

  /**
   * The statement is cancelled when it takes longer than twice `busyTimeoutMs`: a limit of the server would have to be set by a
   * statement before it. `onOther` runs the query that cancels it on another connection.
   */
  async #statementOn<Result>(
    connection: Connection,
    onOther: OnConnection,
    work: (all: Transaction['all']) => Promise<Result>,
  ): Promise<Result> {
    const { schema, busyTimeoutMs } = this.#settings
    const mark = `/* countersign ${randomUUID()} */`
    const all = allOn(connection)
    const end = timer(2 * busyTimeoutMs, () => void cancel(mark, onOther))
    try {
      return await work((sql, ...values) => all(`${mark} ${sql}`, ...values))
    } catch (error) {
      throw inboxError(connection.lost() ?? error, schema)
    } finally {
      end()
    }
  }

  /** This connection is always checked out. The others of the pool may all be in use. */
  readonly #onLeaseConnection: OnConnection = (query) => this.#leases.run(query)

  readonly #onPoolConnection: OnConnection = async (query) => {
    const connection = await this.connections.acquire()
    try {
      await query(connection)
    } finally {
      connection.release()
    }
  }

  /** Runs a transaction on the connection for leases. */
  async lease<Result>(work: Work<Result>): Promise<Result> {
    return this.#onLeases((connection, settings) => transaction(connection, settings, work))
  }

  /**
   * Calls a lease function on the connection for leases: as one statement, or in a transaction if `work` resolves to undefined
   * because that is needed.
   */
  async leaseFunction<Result>(
    work: (all: Transaction['all'], settings: TransactionSettings) => Promise<Result | undefined>,
  ): Promise<Result> {
    return this.#onLeases(async (connection, settings) => {
      const result = await this.#statementOn(connection, this.#onPoolConnection, (all) => work(all, settings))
      return result ?? (await transaction(connection, settings, ({ all }) => work(all, settings)))!
    })
  }

  async #onLeases<Result>(
    operation: (connection: Connection, settings: TransactionSettings) => Promise<Result>,
  ): Promise<Result> {
    await this.makeReady()
    const lockTimeoutMs = Math.min(this.#settings.busyTimeoutMs, LEASE_LOCK_TIMEOUT_MS)
    const settings = { ...this.#settings, lockTimeoutMs }
    const attempt = () => this.#leases.run((connection) => operation(connection, settings))
    try {
      return await retryConflicts(attempt)
    } catch (error) {
      throw inboxError(error, this.#settings.schema)
    }
  }

  /** A pool of the user stays open. */
  async close(): Promise<void> {
    await this.#leases.close()
    await this.connections.close()
  }

  async #migrate(): Promise<void> {
    const { schema, logger } = this.#settings
    await this.#leases.run(async (connection) => {
      try {
        await checkServer(connection, schema)
        await migrate(connection, schema)
        await warnIfNotDurable(connection, logger)
      } catch (error) {
        const reason = inboxError(connection.lost() ?? error, schema)
        connection.destroy()
        throw reason
      }
    })
  }

  async #acquire(): Promise<Connection> {
    try {
      return await this.connections.acquire()
    } catch (error) {
      throw inboxError(error, this.#settings.schema)
    }
  }
}

/** The text of a statement identifies it behind PgBouncer as well. */
async function cancel(mark: string, onOther: OnConnection): Promise<void> {
  try {
    await onOther((connection) => connection.query(CANCEL, [`${mark} %`]))
  } catch {
    // The connection is given up a moment later. The server then notices it when the statement has ended.
  }
}

const CANCEL =
  'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid()'

/** Shorter than for callbacks: what waits for a lock here holds up every other entry of the worker. */
const LEASE_LOCK_TIMEOUT_MS = 500
