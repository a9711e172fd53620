import { userInfo } from 'node:os'
import type { Inbox, OperatorAction } from '../../../inbox/inbox.js'
import { MOVES } from '../../../inbox/states.js'
import { EXIT, printJson, UsageError, type ExitCode, type Io } from '../../io.js'
import { positiveNumber } from '../../option-values.js'
import { addFilterOptions, every, filterOf, type FilterFlags } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ActFlags extends InboxFlags, FilterFlags {
  readonly by?: string
  readonly dryRun?: true
  readonly yes?: true
  readonly json?: true
}

export const defineRetry = defineAction(
  'retry',
  'Have entries handled once more: dead, unhandled or retrying ones now, handled ones again.',
)
export const defineRelease = defineAction('release', 'Have entries in quarantine handled.')
export const defineDiscard = defineAction('discard', 'Put entries aside that will not be handled.')

function defineAction(action: OperatorAction, description: string): DefineSubcommand {
  return (subcommand, io, finish) => {
    addFilterOptions(subcommand(action, description))
      .argument(
        '[ids...]',
        'the numbers of the entries; or say which by their state, type, key or age',
        (id: string, before: number[] | undefined) => [...(before ?? []), positiveNumber(id)],
      )
      .option('--by <name>', 'who decides this, for the history (default: the user of this system)')
      .option('--dry-run', 'say what would be done')
      .option('--yes', 'do it to more than one entry that was not named by its number')
      .option('--json', 'print JSON')
      .action(async (ids: number[] | undefined, flags: ActFlags) => {
        finish(await withInbox(flags, io, async (inbox) => act(inbox, action, ids ?? [], flags, io)))
      })
  }
}

async function act(
  inbox: Inbox,
  action: OperatorAction,
  ids: readonly number[],
  flags: ActFlags,
  io: Io,
): Promise<ExitCode> {
  const chosen = ids.length > 0 ? ids : await bulk(inbox, action, flags)
  if (ids.length === 0 && chosen.length > 1 && !flags.dryRun && !flags.yes) {
    throw new UsageError(
      `${action} would change ${chosen.length} entries: look with --dry-run, and then add --yes`,
    )
  }
  const by = flags.by ?? userInfo().username
  const results: { id: number; done: boolean; why?: string }[] = []
  for (const id of chosen) {
    const why = flags.dryRun ? undefined : await inbox.act(id, action, by)
    results.push(why === undefined ? { id, done: !flags.dryRun } : { id, done: false, why })
  }
  if (flags.json) printJson(io, { action, dryRun: flags.dryRun ?? false, results })
  else {
    for (const { id, why } of results) {
      const said = why ?? (flags.dryRun ? `entry ${id}: would ${action}` : `entry ${id}: ${action}`)
      ;(why ? io.stderr : io.stdout).write(`${said}\n`)
    }
    if (results.length === 0) io.stdout.write('none\n')
  }
  return results.some(({ why }) => why) ? EXIT.unexpected : EXIT.done
}

/** What the filter picks, of those whose state allows the action. */
async function bulk(inbox: Inbox, action: OperatorAction, flags: ActFlags): Promise<number[]> {
  const filter = filterOf(flags)
  if (Object.values(filter).every((value) => value === undefined)) {
    throw new UsageError(
      `say which entries to ${action}: by their numbers, or with --state, --type, --key or an age`,
    )
  }
  // To handle again what was handled is meant only where it is said.
  const allowed = MOVES[action].from.filter((state) => state !== 'handled')
  const ids: number[] = []
  for await (const { id } of every(inbox, { ...filter, states: filter.states ?? allowed })) ids.push(id)
  return ids
}
