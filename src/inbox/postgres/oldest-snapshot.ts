import type { InboxStats } from '../operations.js'
import type { BigInteger } from '../stored-entry.js'
import type { Transaction } from './transaction.js'

/** A transaction of a handler or of an operator may take some seconds. */
const REPORTED_FROM_MS = 60_000
/** Of a replication slot the server knows no time. A standby that reports its queries is some transactions behind. */
const REPORTED_FROM_TRANSACTIONS = 100_000

/**
 * The dead rows of the tables, and what keeps the server from removing them. A role without `pg_read_all_stats` sees the sessions of
 * its own role only.
 */
export async function heldDeadRows(
  tx: Transaction,
): Promise<Pick<InboxStats, 'deadRows' | 'oldestSnapshot'>> {
  const [dead] = await tx.all<{ rows: BigInteger }>(DEAD_ROWS)
  const [held] = await tx.all<HeldRow>(HELD, tx.now - REPORTED_FROM_MS, REPORTED_FROM_TRANSACTIONS)
  const deadRows = Number(dead!.rows)
  if (!held) return { deadRows }
  const since = held.since === null ? undefined : new Date(Number(held.since))
  return { deadRows, oldestSnapshot: { holder: `${held.kind} ${JSON.stringify(held.name)}`, since } }
}

interface HeldRow {
  readonly kind: string
  readonly name: string
  readonly since: BigInteger | null
}

const DEAD_ROWS = `
  SELECT coalesce(sum(n_dead_tup), 0)::bigint AS rows FROM pg_stat_user_tables WHERE schemaname = current_schema()`

// What VACUUM and the server itself read holds no dead row back. `xmin` of a slot has no time, but a number of transactions.
const HELD = `
  SELECT kind, name, since FROM (
    SELECT 'session' AS kind, concat_ws(' ', pid, nullif(application_name, '')) AS name, ${milliseconds('xact_start')} AS since,
      greatest(age(backend_xmin), age(backend_xid)) AS age
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
      AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND query NOT ILIKE 'vacuum%'
    UNION ALL
    SELECT 'prepared transaction', gid, ${milliseconds('prepared')}, age(transaction)
    FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'replication slot', slot_name, NULL, age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
  ) AS held
  WHERE since <= $1::bigint OR (since IS NULL AND age >= $2::integer)
  ORDER BY age DESC LIMIT 1`

function milliseconds(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::bigint`
}
