import type { Command } from 'commander'
import { CountersignError } from '../../../base/errors.js'
import { copyEntries, type Copying, type ForeignEntry } from '../../../inbox/copy.js'
import { ENGINE, type Inbox } from '../../../inbox/inbox.js'
import type { EntrySummary } from '../../../inbox/operations.js'
import { addEnvFileOption, CONFIG_OPTION, loadEnvFile } from '../../environment.js'
import type { ConfiguredInbox } from '../../inboxes/configured-inbox.js'
import { findInbox, type InboxFlags } from '../../inboxes/find-inbox.js'
import { namedInbox } from '../../inboxes/inbox-setting.js'
import { complain, EXIT, printJson, UsageError, type ExitCode, type Io } from '../../io.js'
import { someText } from '../../option-values.js'
import { every } from './entry-filter.js'
import type { DefineSubcommand } from './subcommand.js'

interface CopyFlags extends Omit<InboxFlags, 'inbox'> {
  readonly from?: string
  readonly to?: string
  readonly stopped?: true
  readonly json?: true
}

const DESCRIPTION =
  'Copy all entries into another inbox, such as from a file into PostgreSQL. Nothing in the source is changed. Repeat the command to ' +
  'bring what has changed since, or to continue after it was ended.'

export const defineCopy: DefineSubcommand = (subcommand, io, finish) => {
  subcommand('copy', DESCRIPTION, addOptions)
    .option('--json', 'print JSON')
    .action(async (flags: CopyFlags) => finish(await copy(flags, io)))
}

function addOptions(command: Command): Command {
  const withInboxes = command
    .option(
      '--from <inbox>',
      'a file, or a postgres:// URL without a password (default: COUNTERSIGN_INBOX, or that of the configuration)',
      someText,
    )
    .option('--to <inbox>', 'the same (default: the same, if --from is given)', someText)
    .option(
      '--stopped',
      'nothing uses the source any more: also copy the entries that are not finished, for the workers of the other inbox',
    )
    .option(...CONFIG_OPTION)
  return addEnvFileOption(withInboxes)
}

async function copy(flags: CopyFlags, io: Io): Promise<ExitCode> {
  const { from, to } = await bothInboxes(flags, io)
  const names = { from: await from.name(), to: await to.name() }
  if (names.from === names.to) throw new UsageError(`--from and --to are the same inbox, ${names.from}`)
  await from.checkIsThere()
  const use = { logger: false, isBrief: true } as const
  const [source, target] = [await from.create(use), await to.create(use)]
  try {
    await source.open()
    await target.open()
    const inboxes = { source, target, ...names }
    return await copyBetween(inboxes, flags, io)
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    complain(io, `${error.message}. What has been copied stays: run the command again to continue`)
    return EXIT.failed
  } finally {
    await source.close()
    await target.close()
  }
}

/** The inbox that no flag names is that of the environment or of the configuration. */
async function bothInboxes(
  { from, to, config, env }: CopyFlags,
  io: Io,
): Promise<{ from: ConfiguredInbox; to: ConfiguredInbox }> {
  await loadEnvFile(env, io)
  const inbox = async (text: string | undefined, flag: string) => {
    const found =
      text === undefined
        ? (await findInbox(config === undefined ? {} : { config }, io)).inbox
        : namedInbox(text, flag, io.cwd())
    if (found) return found
    throw new UsageError(`${flag} says none: name an inbox`)
  }
  if (from === undefined && to === undefined)
    throw new UsageError('name one inbox with --from or --to, or both')
  return { from: await inbox(from, '--from'), to: await inbox(to, '--to') }
}

interface Inboxes {
  readonly source: Inbox
  readonly target: Inbox
  /** Their names. */
  readonly from: string
  readonly to: string
}

async function copyBetween(
  { source, target, from, to }: Inboxes,
  { stopped, json }: CopyFlags,
  io: Io,
): Promise<ExitCode> {
  const running = stopped ? await runningEntry(source) : undefined
  if (running) {
    const until = running.dueAt!.toISOString()
    complain(
      io,
      `a worker has entry ${running.id} of ${from} until ${until}: stop the workers, and run this again after that time`,
    )
    return EXIT.failed
  }
  const { lastId } = await copyingOf(source, from).marks()
  const result = await copyEntries(copyingOf(source, from), copyingOf(target, to), {
    isStopped: stopped ?? false,
    onProgress: progress(io),
  })
  if ('why' in result) throw new UsageError(foreignMessage(result, from, to))
  const { copied, outdated, left, withoutOrder } = result
  const arrived = (await copyingOf(source, from).marks()).lastId > lastId
  if (json) printJson(io, { copied, outdated, left, withoutOrder })
  else {
    io.stdout.write(`${count(copied)} copied into ${to}\n`)
    if (outdated > 0) io.stdout.write(`${count(outdated)} had changed since, or had been deleted\n`)
    if (left > 0)
      io.stdout.write(
        `${count(left)} not finished, and left in ${from}: stop its receivers and workers, and run this again with --stopped\n`,
      )
  }
  if (withoutOrder > 0)
    complain(
      io,
      `${count(withoutOrder)} not finished have an order key, of which PostgreSQL keeps a hash only: callbacks that arrive from ` +
        'now on do not wait for them',
    )
  if (!stopped || !arrived) return EXIT.done
  complain(
    io,
    `callbacks arrived in ${from} meanwhile, so something still uses it: stop it, and run this again`,
  )
  return EXIT.failed
}

/** An entry whose lease has not ended. Its worker may have died. */
async function runningEntry(source: Inbox): Promise<EntrySummary | undefined> {
  for await (const entry of every(source, { states: ['running'] }))
    if (Number(entry.dueAt) > Date.now()) return entry
  return undefined
}

/** @throws UsageError */
function copyingOf(inbox: Inbox, name: string): Copying {
  const { copying } = inbox[ENGINE]
  if (copying) return copying
  throw new UsageError(`${name} is not durable: name a file or a database`)
}

function foreignMessage({ foreignId, why }: ForeignEntry, from: string, to: string): string {
  const what = {
    other: `is not one of ${from}, so ${to} is in use already, or is another inbox: copy into an empty one`,
    claimed: `was claimed by a worker there, so ${to} is in use already: what it has now must not be overwritten`,
  }[why]
  return `nothing was changed: entry ${foreignId} of ${to} ${what}`
}

const PROGRESS_MS = 1_000

/** Writes a line each second. */
function progress(io: Io): (done: number) => void {
  let last = performance.now()
  return (done) => {
    if (performance.now() - last < PROGRESS_MS) return
    last = performance.now()
    io.stderr.write(`${count(done)} done\n`)
  }
}

function count(entries: number): string {
  return entries === 1 ? '1 entry' : `${entries.toLocaleString('en-US')} entries`
}
