import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { CountersignError } from '../../../base/errors.js'
import type { InboxOperations } from '../../../inbox/inbox.js'
import { refuseOlderFile } from '../../../inbox/sqlite/read-inbox-file.js'
import { SqliteInbox } from '../../../inbox/sqlite/sqlite-inbox.js'
import { complain, EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { findInbox, type InboxFile, type InboxFlags } from '../../config/inbox-file.js'

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
  const inbox = found.kind === 'own' ? found.inbox : inboxOf(found)
  try {
    if (found.kind === 'file') await refuseOlderFile(found.path)
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

function inboxOf({ path, name, retention }: InboxFile): InboxOperations {
  if (existsSync(path)) return new SqliteInbox({ file: path, ...retention, logger: false })
  throw new UsageError(
    `there is no inbox ${name} (${path}): name it with --file, or go where the configuration is`,
  )
}
