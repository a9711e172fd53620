import type { Command } from 'commander'
import { CountersignError } from '../../../base/errors.js'
import type { InboxOperations } from '../../../inbox/operations.js'
import type { Logger } from '../../../logging/logger.js'
import { findInbox, type InboxFlags } from '../../inboxes/find-inbox.js'
import { complain, EXIT, type ExitCode, type Io } from '../../io.js'

export type { InboxFlags }

/** Adds a subcommand by its name and description, with the options that all of them have. `addOptions` adds others in their place. */
export type AddSubcommand = (
  name: string,
  description: string,
  addOptions?: (command: Command) => Command,
) => Command

export type DefineSubcommand = (subcommand: AddSubcommand, io: Io, finish: (code: ExitCode) => void) => void

/** Opens the inbox for `use`, and closes it. It is neither created nor migrated. */
export async function withInbox(
  flags: InboxFlags,
  io: Io,
  use: (inbox: InboxOperations) => Promise<ExitCode>,
  { asksRetention = false, logger = false }: { asksRetention?: boolean; logger?: Logger | false } = {},
): Promise<ExitCode> {
  const { inbox: configured, retention } = await findInbox(flags, io, { asksRetention })
  const inbox = await configured.create({ logger, retention, isBrief: true })
  try {
    await configured.checkIsThere()
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
