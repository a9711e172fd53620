import { createHash } from 'node:crypto'
import { CountersignError } from '../../base/errors.js'
import { textProperty } from '../../base/foreign-value.js'
import type { Connection } from './connections.js'
import { inboxError } from './inbox-error.js'
import { MIGRATIONS, SCHEMA_VERSION, type Migration } from './migrations.js'
import { checkCompatible, type StoredVersion } from './schema-version.js'
import { DEFAULT_SCHEMA, roleName, schemaName } from './schema-name.js'
import { dollarQuote, quoteIdentifier, quoteLiteral, searchPathOf } from './sql-text.js'

/** Every table of the schema. */
export const TABLES = [
  'entries',
  'contents',
  'due',
  'ended',
  'copies',
  'sources',
  'history',
  'deleted',
  'handled_types',
] as const

const FUNCTIONS = ['now_ms', 'store_new', 'claim_entries', 'settle_entries']

/**
 * The SQL that creates the schema and brings it up to date, for the owner of the database to run. It changes nothing in a
 * schema that is up to date, and it waits for another process that does the same.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function migrationSql(schema = DEFAULT_SCHEMA): string {
  return sqlOf(MIGRATIONS, schema)
}

/** The same for these migrations. */
export function sqlOf(migrations: readonly Migration[], schema: string): string {
  const name = quoteIdentifier(schemaName('migrationSql', schema))
  const steps = migrations.map((migration, index) => step(migration, index + 1)).join('')
  // Statements and the wait for another process that migrates have no limit, because building an index may take long. The commit waits
  // for no standby, which may be absent: a standby that confirms a callback has everything that was committed before it.
  return `BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout = 0;
SET LOCAL synchronous_commit = local;
SET LOCAL lock_timeout = 0;
SELECT pg_advisory_xact_lock(${advisoryLock(schema, 'migration')});
SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
DO ${dollarQuote(`BEGIN
  IF to_regnamespace(${quoteLiteral(name)}) IS NULL THEN
    CREATE SCHEMA ${name};
  END IF;
END
`)};
SET LOCAL search_path = ${searchPathOf(schema)};
CREATE TABLE IF NOT EXISTS schema_version (
  only_row integer PRIMARY KEY CHECK (only_row = 1), version integer NOT NULL, compatible_from integer NOT NULL
);
INSERT INTO schema_version VALUES (1, 0, 0) ON CONFLICT DO NOTHING;
DO ${dollarQuote(`DECLARE
  renamed record;
BEGIN
${steps}${AFTER_RENAMING}END
`)};
COMMIT;
`
}

/**
 * The functions that use the tables of another schema. `ALTER SCHEMA ... RENAME` leaves the former name in the search path of each
 * function: a receiver would store its callbacks in the schema that has this name now.
 */
const FUNCTIONS_OF_ANOTHER_SCHEMA = `
  FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace, unnest(proconfig) AS setting
  WHERE proname IN (${FUNCTIONS.map(quoteLiteral).join(', ')})
    AND starts_with(setting, 'search_path=')
    -- Without quotation marks, because a setting of the server decides which names have them.
    AND NOT starts_with(replace(setting, '"', '') || ',', 'search_path=' || replace(nspname, '"', '') || ',')`

const AFTER_RENAMING = `FOR renamed IN SELECT pg_proc.oid::regprocedure AS name ${FUNCTIONS_OF_ANOTHER_SCHEMA}
    AND nspname = current_schema() LOOP
  EXECUTE format('ALTER FUNCTION %s SET search_path FROM CURRENT', renamed.name);
END LOOP;
`

/** What callbacks need waits behind a migration that waits for a lock. It gives up before they do, which is after `busyTimeoutMs`. */
const LOCK_TIMEOUT_MS = 1_000

/**
 * The SQL that lets a role use the inbox without letting it change the schema, for the owner of the schema to run.
 * `migrationSql` has to be run first.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function grantStatements(role: string, schema = DEFAULT_SCHEMA): string {
  const to = quoteIdentifier(roleName(OWNER_OF_GRANTS, role))
  const within = quoteIdentifier(schemaName(OWNER_OF_GRANTS, schema))
  const tables = TABLES.map((table) => `${within}.${table}`).join(', ')
  const functions = FUNCTIONS.map((name) => `${within}.${name}`).join(', ')
  return `GRANT USAGE ON SCHEMA ${within} TO ${to};
GRANT SELECT ON ${within}.schema_version TO ${to};
GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables} TO ${to};
GRANT USAGE ON SEQUENCE ${within}.entries_id TO ${to};
GRANT EXECUTE ON FUNCTION ${functions} TO ${to};
`
}

const OWNER_OF_GRANTS = 'grantStatements'

/**
 * Brings the schema up to date if it is not. A role that may not do that can use a schema that is.
 * @throws CountersignError ERR_INBOX_NEWER, ERR_INBOX_FORBIDDEN and others
 */
export async function migrate(connection: Connection, schema: string): Promise<void> {
  const found = await storedVersion(connection, schema)
  checkCompatible(found, schema)
  const isRenamed = found.version === SCHEMA_VERSION && (await wasRenamed(connection, schema))
  if (found.version >= SCHEMA_VERSION && !isRenamed) return
  try {
    await connection.client.query(migrationSql(schema))
  } catch (error) {
    await connection.query('ROLLBACK')
    // A conflict with the code of a newer version, which migrated at the same time.
    checkCompatible(await storedVersion(connection, schema), schema)
    if (textProperty(error, 'code') !== '42501') throw error
    throw isRenamed ? renamedError(schema, error) : forbiddenError(schema, found.version, error)
  }
}

async function wasRenamed(connection: Connection, schema: string): Promise<boolean> {
  const sql = `SELECT 1 ${FUNCTIONS_OF_ANOTHER_SCHEMA} AND nspname = $1 LIMIT 1`
  const { rows } = await connection.query(sql, [schema])
  return rows.length > 0
}

/** Version 0 stands for a schema that is not there. */
export async function storedVersion(connection: Connection, schema: string): Promise<StoredVersion> {
  const table = `${quoteIdentifier(schema)}.schema_version`
  try {
    const sql = `SELECT version, compatible_from AS "compatibleFrom" FROM ${table}`
    const { rows } = await connection.query<StoredVersion>(sql)
    return rows[0] ?? NO_SCHEMA
  } catch (error) {
    const isMissing = ['42P01', '3F000'].includes(textProperty(error, 'code') ?? '')
    if (isMissing) return NO_SCHEMA
    throw inboxError(error, schema)
  }
}

const NO_SCHEMA: StoredVersion = { version: 0, compatibleFrom: 0 }

/** For a role that may not bring the schema up to date. */
export function forbiddenError(schema: string, version: number, cause?: unknown): CountersignError {
  const state = version === 0 ? 'does not exist' : `is of version ${version}`
  return ownerNeeded(`schema "${schema}" ${state}, version ${SCHEMA_VERSION} is needed`, cause)
}

function renamedError(schema: string, cause: unknown): CountersignError {
  return ownerNeeded(`schema "${schema}" was renamed, its functions use the former name`, cause)
}

function ownerNeeded(what: string, cause: unknown): CountersignError {
  const message =
    `${what}, and this role may not change it. Let the owner run what "countersign inbox migrate --print --role ROLE" ` +
    'prints, or migrationSql() and grantStatements() return'
  return new CountersignError('ERR_INBOX_FORBIDDEN', message, { cause })
}

function step({ sql, compatibleFrom }: Migration, version: number): string {
  return `IF (SELECT version FROM schema_version) < ${version} THEN
${sql}
  UPDATE schema_version SET version = ${version}, compatible_from = ${compatibleFrom};
END IF;
`
}

/** A number for an advisory lock, which all applications of a database share. */
export function advisoryLock(schema: string, purpose: string): bigint {
  const digest = createHash('sha256').update(`countersign\0${schema}\0${purpose}`).digest()
  return digest.readBigInt64BE()
}
