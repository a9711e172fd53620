import type { PostgresInboxOptions } from '../../inbox/postgres/options.js'
import { DEFAULT_SCHEMA } from '../../inbox/postgres/schema-name.js'
import { UsageError } from '../io.js'
import { NOTHING_SIGNED, type ConfiguredInbox } from './configured-inbox.js'
import { databaseName, secretsIn } from './connection-string.js'

/**
 * `lookUp` returns the connection string. It is called only when the string is used: to print the SQL of the migrations, for example, it
 * is not needed.
 */
export function postgresInbox(
  options: Omit<PostgresInboxOptions, 'pool' | 'connectionString' | 'logger'>,
  lookUp: () => Promise<string>,
): ConfiguredInbox {
  const { schema = DEFAULT_SCHEMA, busyTimeoutMs } = options
  let found: Promise<string> | undefined
  const connectionString = () => (found ??= lookUp())
  const name = async () => `schema ${JSON.stringify(schema)} of ${databaseName(await connectionString())}`
  const lookedAt = async () => ({ connectionString: await connectionString(), schema, busyTimeoutMs })
  const create: ConfiguredInbox['create'] = async ({ logger, retention }) => {
    const { PostgresInbox } = await import('../../inbox/postgres/postgres-inbox.js')
    return new PostgresInbox({ ...options, ...retention, connectionString: await connectionString(), logger })
  }
  const state = async () => {
    const { databaseState } = await import('../../inbox/postgres/look-at-database.js')
    return databaseState(await lookedAt())
  }
  return {
    retention: options,
    name,
    secrets: async () => secretsIn(await connectionString()),
    create,
    async check(log) {
      const { checkMayMigrate } = await import('../../inbox/postgres/look-at-database.js')
      const database = await state()
      checkMayMigrate(database, schema)
      if (database.notDurable.length > 0) {
        const settings = database.notDurable.join(' and ')
        const message = `the database server runs with ${settings} off: callbacks that were answered 200 may be lost`
        log.warn({ code: 'WARN_NOT_DURABLE' }, message)
      }
      if (database.schemaVersion === 0) return { entries: 'no schema yet', database }
      if (database.schemaVersion < database.neededVersion) return { entries: 'older schema', database }
      const inbox = await create({ logger: false })
      try {
        return { entries: await inbox.stats(), database }
      } finally {
        await inbox.close()
      }
    },
    async checkIsThere() {
      const { olderSchemaError } = await import('../../inbox/postgres/look-at-database.js')
      const database = await state()
      if (database.schemaVersion >= database.neededVersion) return
      if (database.schemaVersion > 0) throw olderSchemaError(schema, database)
      throw new UsageError(
        `there is no inbox in ${await name()}: start a receiver, or run countersign inbox migrate`,
      )
    },
    schemaVersion: async () => (await state()).schemaVersion,
    async migrationSql(role) {
      const { grantStatements, migrationSql } = await import('../../inbox/postgres/schema.js')
      return migrationSql(options.schema) + (role === undefined ? '' : grantStatements(role, options.schema))
    },
    async lastSigned(secrets) {
      const { lastSignedInDatabase } = await import('../../inbox/postgres/last-signed.js')
      if ((await state()).schemaVersion === 0) return NOTHING_SIGNED
      return lastSignedInDatabase(await lookedAt(), secrets)
    },
  }
}
