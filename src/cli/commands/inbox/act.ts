import type { Command } from 'commander'
import type { EntryId } from '../../../callback/callback.js'
import type {
  EntrySummary,
  InboxOperations,
  OperatorAction,
  OperatorDecision,
  SeenEntry,
} from '../../../inbox/operations.js'
import { BULK_STATES } from '../../../inbox/act-on-matching.js'
import { actionRefusal, missingRefusal } from '../../../inbox/operator-action.js'
import { MOVES } from '../../../inbox/states.js'
import { UsageError, type ExitCode, type Io } from '../../io.js'
import {
  because,
  decideAndReport,
  decider,
  entryIds,
  refused,
  report,
  systemUser,
  type Result,
} from './act-results.js'
import { addFilterOptions, every, filterOf, hasFilter, type FilterFlags } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ActFlags extends InboxFlags, FilterFlags {
  readonly by?: string
  readonly because?: string
  readonly dryRun?: true
  readonly handleAgain?: true
  readonly yes?: true
  readonly json?: true
}

export const defineRetry = defineAction(
  'retry',
  'Make dead or retrying entries due now; handled entries only with --handle-again.',
)
export const defineRelease = defineAction(
  'release',
  'Release entries from quarantine, so that they are handled.',
)
export const defineDiscard = defineAction('discard', 'Discard entries, so that they are never handled.')

function defineAction(action: OperatorDecision, description: string): DefineSubcommand {
  return (subcommand, io, finish) => {
    const command = addFilterOptions(subcommand(action, description))
      .argument(
        '[ids...]',
        'the ids of the entries; or select them by state, type, key, Id, subscription, reason or age',
        entryIds,
      )
      .option('--dry-run', 'say what would be done, and what would be refused and why')
      .option('--yes', 'do it to more than one entry that was not named by its id')
    addDecisionOptions(command)
    if (action !== 'discard') {
      command.option(
        '--handle-again',
        'also for callbacks that were handled or will be: they are handled a second time; needs the ids of the entries',
      )
    }
    command.action(async (ids: EntryId[] | undefined, flags: ActFlags) => {
      finish(await withInbox(flags, io, async (inbox) => act(inbox, action, ids ?? [], flags, io)))
    })
  }
}

export const defineUndo: DefineSubcommand = (subcommand, io, finish) => {
  const description = 'Take back the latest decision on entries that no worker has claimed since.'
  addDecisionOptions(subcommand('undo', description).argument('<ids...>', 'the ids of the entries', entryIds))
    .option(
      '--handle-again',
      'also for callbacks that were handled or will be: they are handled a second time',
    )
    .action(async (ids: EntryId[], flags: ActFlags) => {
      const chosen = ids.map((id) => ({ id }))
      finish(await withInbox(flags, io, async (inbox) => decideOn(inbox, 'undo', chosen, flags, io)))
    })
}

function addDecisionOptions(command: Command): Command {
  return command
    .option('--by <name>', 'who decides this, for the history (default: the user of this system)', decider)
    .option('--because <text>', 'why, for the history', because)
    .option('--json', 'print JSON')
}

async function act(
  inbox: InboxOperations,
  action: OperatorDecision,
  ids: readonly EntryId[],
  flags: ActFlags,
  io: Io,
): Promise<ExitCode> {
  const again = flags.handleAgain ?? false
  if (again && ids.length === 0)
    throw new UsageError('--handle-again is for entries that are named by their ids, not for a filter')
  if (ids.length > 0 && hasFilter(flags))
    throw new UsageError(
      'name the entries by their ids, or select them by a filter such as --state, not both',
    )
  const chosen: readonly Chosen[] =
    ids.length > 0 ? ids.map((id) => ({ id })) : await bulk(inbox, action, flags)
  if (ids.length === 0 && chosen.length > 1 && !flags.dryRun && !flags.yes) {
    throw new UsageError(
      `${action} would change ${chosen.length} entries: check them with --dry-run, and then add --yes`,
    )
  }
  if (!flags.dryRun) return decideOn(inbox, action, chosen, flags, io)
  const reported = { action, dryRun: true, json: flags.json ?? false }
  return report(await rehearse(inbox, action, chosen, again), reported, io)
}

async function decideOn(
  inbox: InboxOperations,
  action: OperatorAction,
  chosen: readonly Chosen[],
  flags: ActFlags,
  io: Io,
): Promise<ExitCode> {
  const by = flags.by ?? systemUser()
  const { handleAgain: again = false, because: reason, json = false } = flags
  const decide = async ({ id, found }: Chosen) =>
    inbox.act(id, action, by, { again, reason, expected: found })
  return decideAndReport(chosen, decide, { action, dryRun: false, json }, io)
}

interface Chosen {
  readonly id: EntryId
  /** What the filter found. Undefined if the operator named the entry, and so decides on it as it is. */
  readonly found?: Found
}

type Found = SeenEntry & Pick<EntrySummary, 'id' | 'reason'>

/** How many entries are looked at at the same time. A PostgreSQL inbox needs a connection for each. */
const AT_ONCE = 8

/** What the action would do to one entry after the other. It reads of each entry only what the listing has not returned. */
async function rehearse(
  inbox: InboxOperations,
  action: OperatorDecision,
  chosen: readonly Chosen[],
  again: boolean,
): Promise<Result[]> {
  const results: Result[] = []
  const rehearsed = new Set<EntryId>()
  const afterwards = <Known extends { id: EntryId }>(known: Known) =>
    rehearsed.has(known.id) ? { ...known, state: MOVES[action].to, accepted: true } : known
  const look = async ({ id, found }: Chosen) => {
    const entry = found ?? (await inbox.show(id))
    const mayRepeat = entry && action !== 'discard' && !again
    return { id, entry, related: mayRepeat ? await inbox.related(id) : [] }
  }
  for (let start = 0; start < chosen.length; start += AT_ONCE) {
    const batch = await Promise.all(chosen.slice(start, start + AT_ONCE).map(look))
    for (const { id, entry, related } of batch) {
      if (!entry) {
        results.push(refused(id, missingRefusal(id)))
        continue
      }
      const refusal = actionRefusal(action, afterwards(entry), related.map(afterwards), again)
      const reason = entry.state === 'quarantined' ? entry.reason : undefined
      results.push({ ...(refusal ? refused(id, refusal) : { id, done: false }), reason })
      if (!refusal) rehearsed.add(id)
    }
  }
  return results
}

/** What the filter picks, of those whose state allows the action. */
async function bulk(inbox: InboxOperations, action: OperatorDecision, flags: ActFlags): Promise<Chosen[]> {
  if (!hasFilter(flags)) {
    throw new UsageError(
      `say which entries to ${action}: by their ids, or with --state, --event-type, --key, --body-id, --subscription, --reason or an age`,
    )
  }
  const filter = filterOf(flags)
  if (action === 'retry' && filter.states?.includes('handled')) {
    throw new UsageError(
      'retry --state handled would handle every one of them a second time: name the entries by their ids, with --handle-again',
    )
  }
  const states = filter.states ?? BULK_STATES[action]
  const chosen: Chosen[] = []
  for await (const { id, state, attempts, finishedAt, reason } of every(inbox, { ...filter, states }))
    chosen.push({ id, found: { id, state, attempts, finishedAt, reason } })
  return chosen
}
