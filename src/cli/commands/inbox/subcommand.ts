import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { CountersignError } from '../../../base/errors.js'
import type { Inbox } from '../../../inbox/inbox.js'
import { SqliteInbox } from '../../../inbox/sqlite/sqlite-inbox.js'
import { complain, EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { findInboxFile, type InboxFlags } from '../../config/inbox-file.js'

export type { InboxFlags }

/** Adds a subcommand by its name and description, with the options that all of them have. */
export type AddSubcommand = (name: string, description: string) => Command

export type DefineSubcommand = (subcommand: AddSubcommand, io: Io, finish: (code: ExitCode) => void) => void

/** A missing file is not made: to look at the wrong place must not look like an empty inbox. */
export async function withInbox(
  flags: InboxFlags,
  io: Io,
  use: (inbox: Inbox) => Promise<ExitCode>,
  { asksRetention = false } = {},
): Promise<ExitCode> {
  const { path, name, retentionMs } = await findInboxFile(flags, io, { asksRetention })
  if (!existsSync(path)) {
    throw new UsageError(
      `there is no inbox ${name} (${path}): name it with --file, or go where the configuration is`,
    )
  }
  const inbox = new SqliteInbox({ file: path, retentionMs, logger: false })
  try {
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
