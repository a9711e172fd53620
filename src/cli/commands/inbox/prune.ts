import { InvalidArgumentError } from 'commander'
import type { InboxOperations } from '../../../inbox/operations.js'
import { retentionOf } from '../../../inbox/retention.js'
import { PRUNABLE, type PrunableState } from '../../../inbox/states.js'
import { complain, EXIT, printJson, type ExitCode, type Io } from '../../io.js'
import { age, every, PAGE } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface PruneFlags extends InboxFlags {
  readonly olderThan: number
  readonly state?: PrunableState
  readonly dryRun?: true
  readonly json?: true
}

export const definePrune: DefineSubcommand = (subcommand, io, finish) => {
  subcommand(
    'prune',
    'Delete old handled and discarded entries. Entries younger than retentionMs, or discardedRetentionMs, are kept, and so ' +
      'are entries in any other state.',
  )
    .requiredOption('--older-than <age>', 'finished longer ago than this', age)
    .option('--state <state>', `${PRUNABLE.join(' or ')} (default: both)`, prunable)
    .option('--dry-run', 'say how many')
    .option('--json', 'print JSON')
    .action(async (flags: PruneFlags) => {
      // The configuration is read even if the file is named in another way: a repeat of what was pruned too early would be
      // handled again.
      const use = async (inbox: InboxOperations) => prune(inbox, flags, io)
      finish(await withInbox(flags, io, use, { asksRetention: true }))
    })
}

async function prune(
  inbox: InboxOperations,
  { olderThan, state, dryRun, json }: PruneFlags,
  io: Io,
): Promise<ExitCode> {
  const states = state ? [state] : PRUNABLE
  let pruned = 0
  for (const each of states) {
    const request = { state: each, olderThanMs: olderThan, dryRun }
    if (dryRun) pruned += await inbox.prune({ ...request, limit: Number.MAX_SAFE_INTEGER })
    else {
      let step = PAGE
      while (step === PAGE) pruned += step = await inbox.prune({ ...request, limit: PAGE })
    }
  }
  if (json) printJson(io, { pruned, dryRun: dryRun ?? false })
  else io.stdout.write(`${pruned} ${dryRun ? 'would be deleted' : 'deleted'}\n`)
  for (const each of states) {
    const keptMs = retentionOf(each, inbox)
    if (olderThan >= keptMs) continue
    const kept = `${Math.round(keptMs / 3_600_000)} hours`
    complain(io, `the inbox keeps ${each} entries for ${kept}: none younger than that is deleted`)
  }
  if (pruned === 0 && (await hasOld(inbox, states, olderThan))) {
    const message =
      "there are entries that are as old by this machine's clock, but not by the times that the service has signed since: " +
      'they are kept until a callback arrives that was signed late enough. Check the clock if you expected one'
    complain(io, message)
  }
  return EXIT.done
}

async function hasOld(
  inbox: InboxOperations,
  states: readonly PrunableState[],
  olderThanMs: number,
): Promise<boolean> {
  const now = Date.now()
  for (const state of states) {
    const before = now - Math.max(olderThanMs, retentionOf(state, inbox))
    // Only entries received before then can be so old: the others, which may be a million, are not read.
    for await (const { finishedAt } of every(inbox, { states: [state], before }))
      if (Number(finishedAt) < before) return true
  }
  return false
}

function prunable(text: string): PrunableState {
  const state = PRUNABLE.find((each) => each === text)
  if (state) return state
  throw new InvalidArgumentError(`Use ${PRUNABLE.join(' or ')}.`)
}
