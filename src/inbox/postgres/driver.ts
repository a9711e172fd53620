import { CountersignError } from '../../base/errors.js'
import { property } from '../../base/foreign-value.js'

/** What is used of a `pg.Pool`. The types are structural, so `@types/pg` need not be installed. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'connect', listener: (client: PostgresClient) => void): unknown
  readonly options?: { readonly max?: number | undefined } | undefined
}

/** What is used of a `pg.PoolClient`. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  release(destroy?: Error | boolean): void
  /** `T` or `E` within a transaction. Versions of pg before 8.21 lack it. */
  getTransactionStatus?(): string | null
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: () => void): unknown
  on(event: 'notice', listener: (notice: object) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'end', listener: () => void): unknown
  removeListener(event: 'notification', listener: () => void): unknown
  removeListener(event: 'notice', listener: (notice: object) => void): unknown
}

/** The result of one statement. For several statements in one text pg returns a list of them. */
export interface PostgresResult<Row = unknown> {
  readonly command: string
  readonly rowCount: number | null
  readonly rows: Row[]
}

/** A pool that the inbox has made for itself, and ends. */
export interface OwnPool extends PostgresPool {
  end(): Promise<void>
}

interface OwnPoolOptions {
  readonly connectionString: string
  readonly maxConnections: number
  readonly connectTimeoutMs: number
}

/**
 * Makes a pool with the package `pg`, which only users of PostgreSQL have to install.
 * @throws CountersignError ERR_INBOX_DRIVER_MISSING
 */
export async function createPool(options: OwnPoolOptions): Promise<OwnPool> {
  const { Pool } = await loadDriver()
  return new Pool({
    connectionString: options.connectionString,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    // The connection for notifications is idle for long. After two hours, which is the default of Linux, a firewall has forgotten
    // it, and the inbox would listen for nothing.
    keepAlive: true,
    keepAliveInitialDelayMillis: 60_000,
    application_name: 'countersign',
  })
}

interface Driver {
  readonly Pool: new (options: object) => OwnPool
}

async function loadDriver(): Promise<Driver> {
  try {
    const module: unknown = await import('pg')
    return (property(module, 'Pool') === undefined ? property(module, 'default') : module) as Driver
  } catch (error) {
    const message =
      'the package pg could not be loaded, which an inbox with a connectionString needs: npm install pg. ' +
      'Or give the inbox a pool of your own.'
    throw new CountersignError('ERR_INBOX_DRIVER_MISSING', message, { cause: error })
  }
}
