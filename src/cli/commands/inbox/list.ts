import type { EntrySummary, InboxOperations } from '../../../inbox/operations.js'
import { complain, EXIT, printJson, type ExitCode, type Io } from '../../io.js'
import { positiveNumber } from '../../option-values.js'
import { fitted, tableLines, utcTime, widthOf } from '../../table.js'
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

async function list(inbox: InboxOperations, flags: ListFlags, io: Io): Promise<ExitCode> {
  const entries: EntrySummary[] = []
  let hasMore = false
  for await (const entry of every(inbox, filterOf(flags))) {
    hasMore = entries.length === flags.limit
    if (hasMore) break
    entries.push(entry)
  }
  if (flags.json) printJson(io, entries)
  else io.stdout.write(entries.length === 0 ? 'none\n' : readable(entries, widthOf(io.stdout)))
  // The latest entries, which are those that an operator looks for, are not in the list.
  if (hasMore)
    complain(io, `these are the oldest ${flags.limit}, and there are more: raise --limit, or use a filter`)
  return EXIT.done
}

const HEADER = ['id', 'state', 'event type', 'idempotency key', 'received (UTC)', 'attempts', 'copies']

/** A reason is longer than all else, so it has a line of its own. */
const REASON_INDENT = '    '

function readable(entries: readonly EntrySummary[], width: number): string {
  const layout = { width, most: { 2: 32 }, narrow: [[3, 9] as const, [2, 12] as const] }
  const [header, ...lines] = tableLines([HEADER, ...entries.map(row)], layout)
  const withReasons = entries.flatMap(({ reason }, index) => [
    lines[index]!,
    ...(reason === undefined ? [] : [REASON_INDENT + fitted(reason, width - REASON_INDENT.length)]),
  ])
  return [header!, ...withReasons].map((line) => `${line}\n`).join('')
}

function row({ id, state, eventType, idempotencyKey, receivedAt, attempts, copies }: EntrySummary): string[] {
  const received = utcTime(receivedAt)
  return [id, state, eventType, idempotencyKey, received, String(attempts), String(copies)]
}
