import type { EntrySummary, Inbox } from '../../../inbox/inbox.js'
import { EXIT, printJson, type ExitCode, type Io } from '../../io.js'
import { positiveNumber } from '../../option-values.js'
import { printable } from '../../readable-log.js'
import { table } from '../../table.js'
import { addFilterOptions, every, filterOf, type FilterFlags } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ListFlags extends InboxFlags, FilterFlags {
  readonly limit: number
  readonly json?: true
}

export const defineList: DefineSubcommand = (subcommand, io, finish) => {
  addFilterOptions(subcommand('list', 'The entries, oldest first.'))
    .option('--limit <number>', 'how many at most', positiveNumber, 100)
    .option('--json', 'print JSON')
    .action(async (flags: ListFlags) => {
      finish(await withInbox(flags, io, async (inbox) => list(inbox, flags, io)))
    })
}

async function list(inbox: Inbox, flags: ListFlags, io: Io): Promise<ExitCode> {
  const entries: EntrySummary[] = []
  for await (const entry of every(inbox, filterOf(flags))) {
    if (entries.push(entry) === flags.limit) break
  }
  if (flags.json) printJson(io, entries)
  else io.stdout.write(entries.length === 0 ? 'none\n' : table([HEADER, ...entries.map(row)]))
  return EXIT.done
}

const HEADER = ['id', 'state', 'event type', 'idempotency key', 'received', 'attempts', 'copies', 'reason']

function row({
  id,
  state,
  eventType,
  idempotencyKey,
  receivedAt,
  attempts,
  copies,
  reason,
}: EntrySummary): string[] {
  const received = receivedAt.toISOString()
  const numbers = [String(attempts), String(copies)]
  return [
    String(id),
    state,
    printable(eventType),
    idempotencyKey,
    received,
    ...numbers,
    printable(reason ?? ''),
  ]
}
