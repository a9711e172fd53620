import type { Command } from 'commander'
import { CountersignError } from '../../../base/errors.js'
import { isMissing } from '../../../base/is-missing.js'
import type { InboxOperations } from '../../../inbox/operations.js'
import { DEFAULT_SCHEMA } from '../../../inbox/postgres/schema-name.js'
import { refuseOlderFile } from '../../../inbox/sqlite/read-inbox-file.js'
import { complain, EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { databaseName } from '../../config/connection-string.js'
import { findInbox, type FoundInbox, type InboxFlags } from '../../config/inbox-file.js'

export type { InboxFlags }

/** Adds a subcommand by its name and description, with the options that all of them have. */
export type AddSubcommand = (name: string, description: string) => Command

export type DefineSubcommand = (subcommand: AddSubcommand, io: Io, finish: (code: ExitCode) => void) => void

/** A missing file is not made: to look at the wrong place must not look like an empty inbox. */
export async function withInbox(
  flags: InboxFlags,
  io: Io,
  use: (inbox: InboxOperations) => Promise<ExitCode>,
  { asksRetention = false } = {},
): Promise<ExitCode> {
  const found = await findInbox(flags, io, { asksRetention })
  const inbox = await inboxOf(found)
  try {
    await refuseToMigrate(found)
    await inbox.open()
    return await use(inbox)
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    complain(io, error.message)
    return EXIT.failed
  } finally {
    await inbox.close()
  }
}

async function inboxOf(found: FoundInbox): Promise<InboxOperations> {
  if (found.kind === 'own') return found.inbox
  if (found.kind === 'database') {
    const { PostgresInbox } = await import('../../../inbox/postgres/postgres-inbox.js')
    const connectionString = await found.connectionString()
    return new PostgresInbox({ ...found.options, connectionString, logger: false })
  }
  const { path, name, retention } = found
  if (isMissing(path)) {
    throw new UsageError(
      `there is no inbox ${name} (${path}): name it with --inbox, or go where the configuration is`,
    )
  }
  const { SqliteInbox } = await import('../../../inbox/sqlite/sqlite-inbox.js')
  return new SqliteInbox({ file: path, ...retention, logger: false })
}

/** @throws UsageError, CountersignError ERR_INBOX_OLDER */
async function refuseToMigrate(found: FoundInbox): Promise<void> {
  if (found.kind === 'file') return refuseOlderFile(found.path)
  if (found.kind === 'own') return
  const { databaseState, olderSchemaError } = await import('../../../inbox/postgres/look-at-database.js')
  const { schema = DEFAULT_SCHEMA, busyTimeoutMs } = found.options
  const connectionString = await found.connectionString()
  const state = await databaseState({ connectionString, schema, busyTimeoutMs })
  if (state.schemaVersion >= state.neededVersion) return
  if (state.schemaVersion > 0) throw olderSchemaError(schema, state)
  throw new UsageError(
    `there is no inbox in schema ${JSON.stringify(schema)} of ${databaseName(connectionString)}: start a receiver, or run ` +
      'countersign inbox migrate',
  )
}
