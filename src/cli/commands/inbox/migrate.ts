import { CountersignError } from '../../../base/errors.js'
import type { ConfiguredInbox } from '../../inboxes/configured-inbox.js'
import { findInbox, type InboxFlags } from '../../inboxes/find-inbox.js'
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
      const { inbox } = await findInbox(flags, io)
      if (!flags.print) return finish(await migrate(inbox, io))
      io.stdout.write(await inbox.migrationSql(flags.role))
      finish(EXIT.done)
    })
}

async function migrate(configured: ConfiguredInbox, io: Io): Promise<ExitCode> {
  try {
    const before = await configured.schemaVersion()
    const inbox = await configured.create({ logger: false, isBrief: true })
    try {
      await inbox.open()
    } finally {
      await inbox.close()
    }
    const after = await configured.schemaVersion()
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
