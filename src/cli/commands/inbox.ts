import { NO_ENTRIES } from '../../inbox/states.js'
import { addInboxOptions } from '../inboxes/find-inbox.js'
import type { InboxOperations } from '../../inbox/operations.js'
import { silentLogger } from '../../logging/logger.js'
import { EXIT, printJson, type DefineCommand, type ExitCode, type Io } from '../io.js'
import { table } from '../table.js'
import { defineDiscard, defineRelease, defineRetry, defineUndo } from './inbox/act.js'
import { defineCopy } from './inbox/copy.js'
import { defineList } from './inbox/list.js'
import { defineMigrate } from './inbox/migrate.js'
import { definePrune } from './inbox/prune.js'
import { defineShow } from './inbox/show.js'
import { withInbox, type AddSubcommand, type DefineSubcommand, type InboxFlags } from './inbox/subcommand.js'

const EXIT_CODES = `Exit codes:
  0  done
  1  failed: the inbox cannot be used
  2  wrong usage, or there is no such file
`
const NO_SUCH_ENTRY = `  3  there is no such entry
`
const NOT_DONE = `  3  there is no such entry, its state does not allow it, or its callback would
     be handled a second time; the message says which and why
`

const HELP = `
The commands work on the file while the receiver runs. What a person does is
recorded in the entry's history.

The inbox may also be in a PostgreSQL database: that of the configuration, or of
a connection string in COUNTERSIGN_INBOX. A connection string with a password is
not accepted on the command line, which others can see.

The file is that of --inbox, else of COUNTERSIGN_INBOX, else of the
configuration (--config, COUNTERSIGN_CONFIG, or countersign.config.mjs, .ts or
.json in the current folder), else callbacks.db. The secrets of the
configuration are not needed, and its handlers are not run. An application with
a receiver of its own has no configuration: name its inbox with --inbox or
COUNTERSIGN_INBOX.

States:
  ${Object.keys(NO_ENTRIES).join(', ')}
Ages are a number and a unit: 90s, 30m, 2h, 7d.

${EXIT_CODES}${NOT_DONE}
Examples:
  $ countersign inbox check
  $ countersign inbox stats
  $ countersign inbox list --state dead,quarantined --newer-than 2d
  $ countersign inbox list --body-id 7c9e6679-7425-40de-944b-e07fc1f90ae7
  $ countersign inbox show 17 --body
  $ countersign inbox retry 17 18 --because "the account is open again"
  $ countersign inbox retry --state dead --newer-than 2d --dry-run
  $ countersign inbox release --reason ERR_TIMESTAMP_OUT_OF_TOLERANCE --dry-run
  $ countersign inbox release 23
  $ countersign inbox discard --state quarantined --older-than 30d --yes
  $ countersign inbox undo 23
  $ countersign inbox prune --older-than 14d
  $ countersign inbox copy --from callbacks.db --to postgres:///bookings
  $ countersign inbox copy --from callbacks.db --stopped
  $ countersign inbox list --state dead --json --body --output dead.jsonl
  $ countersign inbox migrate --print --role countersign_app`

/** The subcommands that are given entries. */
const EXIT_CODE_3: Readonly<Record<string, string>> = {
  show: NO_SUCH_ENTRY,
  retry: NOT_DONE,
  release: NOT_DONE,
  discard: NOT_DONE,
  undo: NOT_DONE,
}

/** The help of `inbox` has the parts that are the same for all subcommands. */
function subcommandHelp(name: string): string {
  const examples = HELP.split('\n').filter((line) => line.startsWith(`  $ countersign inbox ${name}`))
  return `
countersign inbox --help says which file is meant, and what states and ages are.

${EXIT_CODES}${EXIT_CODE_3[name] ?? ''}
Examples:
${examples.join('\n')}`
}

const defineCheck: DefineSubcommand = (subcommand, io, finish) => {
  subcommand(
    'check',
    'Open the inbox as a receiver does, and say whether it can be used. After a write to its disk has failed, this copies its files.',
  ).action(async (flags: InboxFlags) => {
    const logger = {
      ...silentLogger,
      warn: (_: object, message: string) => void io.stderr.write(`${message}\n`),
    }
    const check = async (inbox: InboxOperations) => {
      await inbox.list({}, { limit: 1 })
      io.stdout.write('the inbox can be used\n')
      return EXIT.done
    }
    finish(await withInbox(flags, io, check, { logger }))
  })
}

const defineStats: DefineSubcommand = (subcommand, io, finish) => {
  subcommand('stats', 'How many entries there are in each state.')
    .option('--json', 'print JSON')
    .action(async (flags: InboxFlags & { json?: true }) => {
      finish(await withInbox(flags, io, async (inbox) => stats(inbox, flags, io)))
    })
}

async function stats(inbox: InboxOperations, { json }: { json?: true }, io: Io): Promise<ExitCode> {
  const { counts, oldestUnfinishedAt, deadRows, oldestSnapshot } = await inbox.stats()
  if (json)
    printJson(io, { counts, oldestUnfinishedAt: oldestUnfinishedAt ?? null, deadRows, oldestSnapshot })
  else {
    io.stdout.write(table(Object.entries(counts).map(([state, count]) => [state, String(count)])))
    if (oldestUnfinishedAt)
      io.stdout.write(`the oldest unfinished one arrived ${oldestUnfinishedAt.toISOString()}\n`)
    if (oldestSnapshot) {
      const { holder, since } = oldestSnapshot
      const start = since ? `, since ${since.toISOString()}` : ''
      io.stdout.write(`${deadRows} dead rows are kept by the snapshot of ${holder}${start}\n`)
    }
  }
  return EXIT.done
}

const SUBCOMMANDS = [
  defineCheck,
  defineStats,
  defineList,
  defineShow,
  defineRetry,
  defineRelease,
  defineDiscard,
  defineUndo,
  definePrune,
  defineCopy,
  defineMigrate,
]

export const defineInbox: DefineCommand = (inbox, io, finish) => {
  inbox.addHelpText('after', HELP)
  const subcommand: AddSubcommand = (name, description, addOptions = addInboxOptions) =>
    addOptions(inbox.command(name).description(description)).addHelpText('after', subcommandHelp(name))
  for (const define of SUBCOMMANDS) define(subcommand, io, finish)
}
