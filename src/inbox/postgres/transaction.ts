import { delay, type Environment } from '../../base/environment.js'
import { CountersignError } from '../../base/errors.js'
import type { Connection } from './connections.js'
import type { PostgresResult } from './driver.js'
import { inboxError, isConflict } from './inbox-error.js'
import { checkStoredVersion, type StoredVersion } from './schema-version.js'
import type { BigInteger } from '../stored-entry.js'
import { quoteLiteral, searchPathOf } from './sql-text.js'

/** One transaction. Every statement finds the tables of the inbox by their bare names. */
export interface Transaction {
  /** The clock of the database when the transaction began, in milliseconds since 1970. */
  readonly now: number
  all<Row>(sql: string, ...values: unknown[]): Promise<Row[]>
  /** Resolves to the number of rows. */
  run(sql: string, ...values: unknown[]): Promise<number>
}

export interface TransactionSettings {
  readonly schema: string
  /** How long a lock is waited for at most. A statement may take twice as long. */
  readonly busyTimeoutMs: number
  /** How long a lock is waited for, if that is shorter. @default busyTimeoutMs */
  readonly lockTimeoutMs?: number
}

/**
 * Runs `work` in a transaction and commits it. When the promise resolves, the server has confirmed the commit. Nothing is kept
 * in the session, and no statement is named: so the connections may come from PgBouncer in transaction mode.
 * @throws CountersignError, or what `work` throws
 */
export async function transaction<Result>(
  connection: Connection,
  settings: TransactionSettings,
  work: (tx: Transaction) => Promise<Result>,
  commit: () => Promise<PostgresResult>,
): Promise<Result> {
  const { schema } = settings
  try {
    const now = await begin(connection, settings)
    const result = await work({
      now,
      all: allOn(connection),
      run: async (sql, ...values) => (await connection.query(sql, values)).rowCount ?? 0,
    })
    const { command } = await commit()
    if (command === 'COMMIT') return result
    // The answer to COMMIT of a transaction in which a statement failed.
    throw new Error(`the transaction ended with ${command}`)
  } catch (error) {
    await rollBack(connection)
    throw inboxError(connection.lost() ?? error, schema)
  }
}

export function allOn(connection: Connection): Transaction['all'] {
  return async <Row>(sql: string, ...values: unknown[]) => (await connection.query<Row>(sql, values)).rows
}

/** How often a transaction is run again because of what others did at the same time. */
const MAX_TRIES = 5

/** Runs `attempt` again if the server undid it in favour of another transaction. */
export async function retryConflicts<Result>(
  environment: Environment,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      const original = error instanceof CountersignError ? error.cause : error
      if (!isConflict(original) || tries === MAX_TRIES) throw error
      // With jitter. Otherwise two transactions that conflict would conflict again.
      await delay(environment, environment.random() * 10 * tries)
    }
  }
}

async function begin(connection: Connection, settings: TransactionSettings): Promise<number> {
  const { schema, busyTimeoutMs, lockTimeoutMs = busyTimeoutMs } = settings
  const limits = {
    search_path: searchPathOf(schema),
    lock_timeout: String(lockTimeoutMs),
    statement_timeout: String(2 * busyTimeoutMs),
    idle_in_transaction_session_timeout: String(4 * busyTimeoutMs),
  }
  // All settings in one SELECT, because the driver makes objects of every result. The time is read in another one, which waits
  // no longer for a lock than they say.
  const results: unknown = await connection.query(
    `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ${setLocal(limits)}, ${SYNCHRONOUS}; ` +
      'SELECT now_ms() AS now, version, compatible_from AS "compatibleFrom" FROM schema_version',
  )
  const [row] = (results as { rows: (StoredVersion & { readonly now: BigInteger })[] }[]).at(-1)!.rows
  checkStoredVersion(row, schema)
  return Number(row!.now)
}

/** Expressions of a SELECT that set what is in force in the running transaction only. */
export function setLocal(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', ${quoteLiteral(value)}, true)`)
    .join(', ')
}

/** A role or a database may be set so that commits need not reach the disk. The inbox overrides that. */
export const SYNCHRONOUS =
  "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END"

/** Ends the connection if that fails. */
export async function rollBack(connection: Connection): Promise<void> {
  if (connection.lost()) return
  try {
    await connection.query('ROLLBACK')
  } catch {
    // Its state is not known.
    connection.destroy()
  }
}
