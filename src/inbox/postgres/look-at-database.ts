import { CountersignError } from '../../base/errors.js'
import { checkServer } from './check-server.js'
import { Connections, type Connection } from './connections.js'
import { settingsThatMayLose } from './durability.js'
import { inboxError } from './inbox-error.js'
import { forbiddenError, storedVersion } from './schema.js'
import { DEFAULT_SCHEMA } from './schema-name.js'
import { SCHEMA_VERSION } from './migrations.js'
import { checkCompatible } from './schema-version.js'
import { quoteIdentifier } from './sql-text.js'

export interface LookOptions {
  readonly connectionString: string
  readonly schema?: string | undefined
  readonly busyTimeoutMs?: number | undefined
}

/**
 * Runs `look` on a connection of its own, which cannot write: to look at a database must not change it.
 * @throws CountersignError as PostgresInbox does
 */
export async function lookAtDatabase<Result>(
  { connectionString, schema = DEFAULT_SCHEMA, busyTimeoutMs = 4_000 }: LookOptions,
  look: (connection: Connection, schema: string) => Promise<Result>,
): Promise<Result> {
  const connections = new Connections({
    pool: undefined,
    connectionString,
    maxConnections: 1,
    schema,
    busyTimeoutMs,
  })
  let connection
  try {
    connection = await connections.acquire()
    const limit = Math.ceil(busyTimeoutMs)
    await connection.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${2 * limit}`)
    return await look(connection, schema)
  } catch (error) {
    throw inboxError(connection?.lost() ?? error, schema)
  } finally {
    connection?.destroy()
    await connections.close()
  }
}

export interface DatabaseState {
  /** Such as `15.8`. */
  readonly serverVersion: string
  /** 0 if there is no such schema yet. */
  readonly schemaVersion: number
  /** The version to which this version of Countersign brings the schema. */
  readonly neededVersion: number
  /** Whether this role may bring the schema to that version. */
  readonly mayMigrate: boolean
  /** The settings of the server with which a failure of its machine may lose callbacks. */
  readonly notDurable: readonly string[]
}

interface StateRow {
  readonly version: string
  readonly is_there: boolean
  readonly may_migrate: boolean
}

/** $1: the table with the version of the schema. $2: the schema. Only the owner of a table may change it. */
const STATE_QUERY = `SELECT current_setting('server_version') AS version, to_regclass($1) IS NOT NULL AS is_there, CASE
    WHEN to_regclass($1) IS NOT NULL
      THEN pg_has_role((SELECT relowner FROM pg_class WHERE oid = to_regclass($1)), 'USAGE')
    WHEN to_regnamespace($2) IS NOT NULL THEN has_schema_privilege(to_regnamespace($2)::oid, 'CREATE')
    ELSE has_database_privilege(current_database(), 'CREATE')
  END AS may_migrate`

/** @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_UNSUPPORTED, and as PostgresInbox does */
export function databaseState(options: LookOptions): Promise<DatabaseState> {
  return lookAtDatabase(options, async (connection, schema) => {
    await checkServer(connection, schema)
    const { rows } = await connection.query<StateRow>(STATE_QUERY, [
      `${quoteIdentifier(schema)}.schema_version`,
      quoteIdentifier(schema),
    ])
    const { version, is_there: isThere, may_migrate: mayMigrate } = rows[0]!
    const notDurable = await settingsThatMayLose(connection)
    // A query on a table that is not there would end the transaction.
    const found = isThere ? await storedVersion(connection, schema) : undefined
    if (found) checkCompatible(found, schema)
    return {
      serverVersion: version,
      schemaVersion: found?.version ?? 0,
      neededVersion: SCHEMA_VERSION,
      mayMigrate,
      notDurable,
    }
  })
}

/**
 * Refuses what the start of a receiver or a worker would be refused for.
 * @throws CountersignError ERR_INBOX_FORBIDDEN if the schema has to be changed, and this role may not do that
 */
export function checkMayMigrate(
  { schemaVersion, neededVersion, mayMigrate }: DatabaseState,
  schema = DEFAULT_SCHEMA,
): void {
  if (schemaVersion < neededVersion && !mayMigrate) throw forbiddenError(schema, schemaVersion)
}

/**
 * Refuses a schema that a command would have to create or to migrate: that is for a receiver, a worker or the owner to do.
 * @throws CountersignError ERR_INBOX_OLDER; and as PostgresInbox does
 */
export function olderSchemaError(schema: string, { schemaVersion, neededVersion }: DatabaseState): Error {
  const message =
    `schema "${schema}" is of version ${schemaVersion}, and this command needs version ${neededVersion}. Nothing was ` +
    'changed. Migrate it with "countersign inbox migrate", or start a receiver of this version'
  return new CountersignError('ERR_INBOX_OLDER', message)
}
