import type { EntryId } from '../../callback/callback.js'
import type { Arrival } from '../engine.js'
import { COLUMN_PARAMETERS, columnsOf, parameterAfterColumns } from './arriving-rows.js'
import { SCHEMA_VERSION } from './migrations.js'
import { checkVersionColumns, type VersionColumns } from './schema-version.js'
import { quoteIdentifier } from './sql-text.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/**
 * Stores those of which neither the signature nor the key is known and that were signed later than what was deleted. Returns
 * their ids in the order of the arrivals, and undefined for the others. Outside of a transaction this is one of its own. Returns
 * undefined if the session has an isolation level with which that is not possible: then it needs a transaction.
 * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_FORBIDDEN, or what `all` throws
 */
export async function insertNew(
  all: Transaction['all'],
  arrivals: readonly Arrival[],
  { schema, busyTimeoutMs }: TransactionSettings,
): Promise<(EntryId | undefined)[] | undefined> {
  if (arrivals.length === 0) return []
  const values = [...columnsOf(arrivals), SCHEMA_VERSION, busyTimeoutMs]
  const [row] = await all<StoredRow>(`SELECT * FROM ${quoteIdentifier(schema)}.${STORE_NEW}`, ...values)
  checkVersionColumns(row!, schema)
  return row!.stored_ids?.split(' ').map((id) => (id === '' ? undefined : id))
}

interface StoredRow extends VersionColumns {
  readonly stored_ids: string | null
}

const LAST = [parameterAfterColumns(1), parameterAfterColumns(2)].map((parameter) => `${parameter}::integer`)
const STORE_NEW = `store_new(${[...COLUMN_PARAMETERS, ...LAST].join(', ')})`
