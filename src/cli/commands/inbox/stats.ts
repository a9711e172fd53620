import type { InboxOperations } from '../../../inbox/operations.js'
import { EXIT, printJson, type ExitCode, type Io } from '../../io.js'
import { table } from '../../table.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

export const defineStats: DefineSubcommand = (subcommand, io, finish) => {
  subcommand('stats', 'How many entries there are in each state.')
    .option('--json', 'print JSON')
    .action(async (flags: InboxFlags & { json?: true }) => {
      finish(await withInbox(flags, io, async (inbox) => stats(inbox, flags, io)))
    })
}

async function stats(inbox: InboxOperations, { json }: { json?: true }, io: Io): Promise<ExitCode> {
  const { counts, oldestUnfinishedAt } = await inbox.stats()
  if (json) printJson(io, { counts, oldestUnfinishedAt: oldestUnfinishedAt ?? null })
  else {
    io.stdout.write(table(Object.entries(counts).map(([state, count]) => [state, String(count)])))
    if (oldestUnfinishedAt)
      io.stdout.write(`the oldest unfinished one arrived ${oldestUnfinishedAt.toISOString()}\n`)
  }
  return EXIT.done
}
