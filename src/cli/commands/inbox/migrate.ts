import { CountersignError } from '../../../base/errors.js'
import { isMissing } from '../../../base/is-missing.js'
import { schemaVersionOf } from '../../../inbox/sqlite/read-inbox-file.js'
import {
  findBuiltInInbox,
  type InboxDatabase,
  type InboxFile,
  type InboxFlags,
} from '../../config/inbox-file.js'
import { complain, EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { someText } from '../../option-values.js'
import type { DefineSubcommand } from './subcommand.js'

interface MigrateFlags extends InboxFlags {
  readonly print?: true
  readonly role?: string
}

export const defineMigrate: DefineSubcommand = (subcommand, io, finish) => {
  subcommand(
    'migrate',
    'Bring the schema of the inbox up to date, as the start of a receiver or a worker does. In a database it is created if it is ' +
      'not there.',
  )
    .option('--print', 'print the SQL for the owner of the database, and do not connect')
    .option(
      '--role <name>',
      'with --print: also the grants for a role that may not change the schema',
      someText,
    )
    .action(async (flags: MigrateFlags) => {
      if (flags.role !== undefined && !flags.print) throw new UsageError('--role needs --print')
      const found = await findBuiltInInbox(flags, io, 'migrate')
      finish(flags.print ? await print(found, flags, io) : await migrate(found, io))
    })
}

async function print(found: InboxFile | InboxDatabase, { role }: MigrateFlags, io: Io): Promise<ExitCode> {
  if (found.kind === 'file') {
    throw new UsageError(
      `--print is for an inbox in a database, and the file ${found.name} is brought up to date without it: ` +
        'name the database in the configuration or in COUNTERSIGN_INBOX',
    )
  }
  const { grantStatements, migrationSql } = await import('../../../inbox/postgres/schema.js')
  const { schema } = found.options
  io.stdout.write(migrationSql(schema))
  if (role !== undefined) io.stdout.write(grantStatements(role, schema))
  return EXIT.done
}

async function migrate(found: InboxFile | InboxDatabase, io: Io): Promise<ExitCode> {
  try {
    const [before, after] = found.kind === 'file' ? await migrateFile(found) : await migrateDatabase(found)
    const change =
      before === after ? `is of version ${after}: there was nothing to do` : `${before} -> ${after}`
    io.stdout.write(`schema ${change}\n`)
    return EXIT.done
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    complain(io, error.message)
    return EXIT.failed
  }
}

type Versions = readonly [before: number, after: number]

async function migrateFile({ path, name }: InboxFile): Promise<Versions> {
  if (isMissing(path)) throw new UsageError(`there is no inbox ${name} (${path}): name it with --inbox`)
  const { SqliteInbox } = await import('../../../inbox/sqlite/sqlite-inbox.js')
  const before = await schemaVersionOf(path)
  const inbox = new SqliteInbox({ file: path, logger: false })
  try {
    await inbox.open()
  } finally {
    await inbox.close()
  }
  return [before, await schemaVersionOf(path)]
}

async function migrateDatabase({ options, ...database }: InboxDatabase): Promise<Versions> {
  const { databaseState } = await import('../../../inbox/postgres/look-at-database.js')
  const { PostgresInbox } = await import('../../../inbox/postgres/postgres-inbox.js')
  const connectionString = await database.connectionString()
  const { schema, busyTimeoutMs } = options
  const version = async () => (await databaseState({ connectionString, schema, busyTimeoutMs })).schemaVersion
  const before = await version()
  const inbox = new PostgresInbox({ ...options, connectionString, logger: false })
  try {
    await inbox.open()
  } finally {
    await inbox.close()
  }
  return [before, await version()]
}
