import { SCHEMA_VERSION } from './migrations.js'
import type { BigInteger } from '../stored-entry.js'
import { checkVersionColumns, type VersionColumns } from './schema-version.js'
import { quoteIdentifier } from './sql-text.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/** What the last row of a lease function has. */
export interface LeaseRow extends VersionColumns {
  readonly found_at: BigInteger | null
}

/** What a lease function returns, and the clock of the database when it began. */
export interface Timed<Result> {
  readonly now: number
  readonly result: Result
}

/**
 * Calls a lease function with the version of this code and the time limit for locks after its own values. `parameters` are their
 * types. Outside of a transaction the call is one of its own. Resolves to undefined if the session has an isolation level with
 * which that is not possible: then it needs a transaction.
 * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_FORBIDDEN, or what `all` throws
 */
export async function callLeaseFunction<Row extends LeaseRow>(
  all: Transaction['all'],
  { schema, busyTimeoutMs, lockTimeoutMs = busyTimeoutMs }: TransactionSettings,
  name: string,
  parameters: readonly string[],
  values: readonly unknown[],
): Promise<Row[] | undefined> {
  const list = [...parameters, 'integer', 'integer'].map((type, index) => `$${index + 1}::${type}`)
  const sql = `SELECT * FROM ${quoteIdentifier(schema)}.${name}(${list.join(', ')})`
  const rows = await all<Row>(sql, ...values, SCHEMA_VERSION, lockTimeoutMs)
  const last = rows.at(-1)!
  checkVersionColumns(last, schema)
  return last.found_at === null ? undefined : rows
}
