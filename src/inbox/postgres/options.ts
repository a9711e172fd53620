import { environmentOf, type Environment } from '../../base/environment.js'
import type { HasAll } from '../../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption, objectOption } from '../../base/option-checks.js'
import { property } from '../../base/foreign-value.js'
import { parseUrl } from '../../base/parse-url.js'
import { refuseSurroundingSpace } from '../../base/surrounding-space.js'
import type { Logger } from '../../logging/logger.js'
import { loggerOption, type LoggerOption } from '../../logging/logger-option.js'
import { RETENTION_OPTIONS, retentionOptions, type Retention, type RetentionOptions } from '../retention.js'
import type { PostgresPool } from './driver.js'
import { refuseSeveralHosts } from './one-address.js'
import { schemaName } from './schema-name.js'

/** Options of `PostgresInbox`. */
export interface PostgresInboxOptions extends RetentionOptions, LoggerOption {
  /**
   * Your own `pg.Pool`. The inbox keeps up to two of its connections checked out and needs others for callbacks: its `max` must
   * be at least 4. You end the pool, after the inbox was closed. Give this or `connectionString`.
   */
  readonly pool?: PostgresPool | undefined
  /** Such as `postgres://user:password@host:5432/database`. Requires the package `pg`. Give this or `pool`. */
  readonly connectionString?: string | undefined
  /**
   * How many connections the inbox opens at most, from 4. Only with `connectionString`. A transactional handler uses one while
   * it runs, and all of them together use at most 4 fewer than these.
   * @default 14, enough for a `concurrency` of 10
   */
  readonly maxConnections?: number | undefined
  /**
   * The schema of the inbox within the database, 1 to 63 bytes. Nothing else may be in it.
   * @default 'countersign'
   */
  readonly schema?: string | undefined
  /**
   * How long a lock or a free connection is waited for at most, in milliseconds. A statement may take twice as long.
   * @default 4_000
   */
  readonly busyTimeoutMs?: number | undefined
}

/** The options with every default. */
export interface PostgresInboxSettings extends Retention {
  /** Undefined if the inbox opens connections of its own. */
  readonly pool: PostgresPool | undefined
  readonly connectionString: string | undefined
  readonly maxConnections: number
  /** Undefined if the pool does not tell how many connections it opens at most. */
  readonly maxTransactions: number | undefined
  readonly schema: string
  readonly busyTimeoutMs: number
  readonly logger: Logger
  readonly environment: Environment
}

const OWNER = 'new PostgresInbox'
const KNOWN = [
  'pool',
  'connectionString',
  'maxConnections',
  'schema',
  ...RETENTION_OPTIONS,
  'busyTimeoutMs',
  'logger',
] as const satisfies readonly (keyof PostgresInboxOptions)[]
void (true satisfies HasAll<keyof PostgresInboxOptions, typeof KNOWN>)

/** Leases, notifications, and two for callbacks, so that one of these may wait for a lock. */
const MIN_CONNECTIONS = 4
/** Connections of the pool that transactional handlers leave: one for leases, one for notifications, two for callbacks. */
const RESERVED_CONNECTIONS = 4

/** @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN */
export function parsePostgresInboxOptions(options: PostgresInboxOptions): PostgresInboxSettings {
  checkKnownOptions(OWNER, options, KNOWN)
  const limits = { fallback: 4_000, min: 1, max: 500_000_000 }
  return {
    schema: schemaName(OWNER, options.schema),
    ...retentionOptions(OWNER, options),
    busyTimeoutMs: integerOption(OWNER, 'busyTimeoutMs', options.busyTimeoutMs, limits),
    logger: loggerOption(OWNER, options.logger),
    environment: environmentOf(options),
    ...databaseOptions(options),
  }
}

function databaseOptions({ pool, connectionString, maxConnections }: PostgresInboxOptions) {
  const max = integerOption(OWNER, 'maxConnections', maxConnections, { fallback: 14, min: MIN_CONNECTIONS })
  if (pool !== undefined) {
    if (connectionString !== undefined)
      throw invalidOption(
        OWNER,
        'connectionString',
        connectionString,
        'give either pool or connectionString',
        'given',
      )
    if (maxConnections !== undefined)
      throw invalidOption(OWNER, 'maxConnections', maxConnections, 'set max of your pool instead')
    objectOption(OWNER, 'pool', pool, ['connect', 'on', 'removeListener'])
    // It would be opened, and then there would be no connection for callbacks.
    if (property(pool, 'connectionParameters') !== undefined)
      throw invalidOption(OWNER, 'pool', pool, 'pass a pg.Pool, which has several connections', 'a pg.Client')
    const poolMax = pool.options?.max
    if (poolMax !== undefined && poolMax < MIN_CONNECTIONS)
      throw invalidOption(
        OWNER,
        'pool',
        pool,
        `set its max to ${MIN_CONNECTIONS} or more`,
        `of max ${poolMax}`,
      )
    const maxTransactions = poolMax === undefined ? undefined : maxTransactionsOf(poolMax)
    return { pool, connectionString: undefined, maxConnections: max, maxTransactions }
  }
  // The value is not repeated, as it holds a password.
  const isText = typeof connectionString === 'string' && connectionString !== ''
  const cure =
    'pass a pg.Pool as pool, or a connectionString such as "postgres://user:password@host:5432/database"'
  if (!isText) throw invalidOption(OWNER, 'connectionString', connectionString, cure, typeof connectionString)
  refuseSurroundingSpace(OWNER, 'connectionString', connectionString, { mayBeShown: false })
  refuseSeveralHosts(connectionString, OWNER, 'connectionString')
  if (/^postgres(ql)?:/.test(connectionString) && parseUrl(connectionString) === undefined)
    throw invalidOption(OWNER, 'connectionString', connectionString, cure, 'not a URL')
  // The form of libpq, such as "host=localhost dbname=bank". The driver would look up a host with another name.
  if (/^\s*\w+\s*=/.test(connectionString))
    throw invalidOption(OWNER, 'connectionString', connectionString, cure, 'a list of keywords and not a URL')
  return { pool: undefined, connectionString, maxConnections: max, maxTransactions: maxTransactionsOf(max) }
}

/** How many transactional handlers may hold a connection of a pool of this size. */
function maxTransactionsOf(maxConnections: number): number {
  return Math.max(1, maxConnections - RESERVED_CONNECTIONS)
}
