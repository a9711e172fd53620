import type { EntryId } from '../../../callback/callback.js'
import type { InboxOperations } from '../../../inbox/operations.js'
import type { ExitCode, Io } from '../../io.js'
import { because, decideAndReport, decider, entryIds, systemUser } from './act-results.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface UndoFlags extends InboxFlags {
  readonly by?: string
  readonly because?: string
  readonly handleAgain?: true
  readonly json?: true
}

export const defineUndo: DefineSubcommand = (subcommand, io, finish) => {
  subcommand('undo', 'Take back the latest decision on entries that no worker has claimed since.')
    .argument('<ids...>', 'the ids of the entries', entryIds)
    .option('--by <name>', 'who decides this, for the history (default: the user of this system)', decider)
    .option('--because <text>', 'why, for the history', because)
    .option(
      '--handle-again',
      'also for callbacks that were handled or will be: they are handled a second time',
    )
    .option('--json', 'print JSON')
    .action(async (ids: EntryId[], flags: UndoFlags) => {
      finish(await withInbox(flags, io, async (inbox) => undo(inbox, ids, flags, io)))
    })
}

async function undo(
  inbox: InboxOperations,
  ids: readonly EntryId[],
  flags: UndoFlags,
  io: Io,
): Promise<ExitCode> {
  const by = flags.by ?? systemUser()
  const options = { again: flags.handleAgain ?? false, reason: flags.because }
  return decideAndReport(
    ids.map((id) => ({ id })),
    async ({ id }) => inbox.act(id, 'undo', by, options),
    { action: 'undo', dryRun: false, json: flags.json ?? false },
    io,
  )
}
