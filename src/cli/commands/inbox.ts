import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { CountersignError } from '../../errors.js'
import type { Entry, EntryFilter, EntrySummary, Inbox, OperatorAction } from '../../inbox/inbox.js'
import { SqliteInbox } from '../../inbox/sqlite-inbox.js'
import { MOVES, PRUNABLE, type InboxState } from '../../inbox/states.js'
import { NO_ENTRIES } from '../../inbox/no-entries.js'
import { withoutQuery } from '../../subscriptions.js'
import { EXIT, printJson, UsageError, type DefineCommand, type ExitCode, type Io } from '../io.js'
import { positiveNumber } from '../option-values.js'
import { printable } from '../readable-log.js'
import { table } from '../table.js'

const HELP = `
The commands work on the file while the receiver runs. What a person does is recorded in the entry's history.

States: ${Object.keys(NO_ENTRIES).join(', ')}.
Ages are a number and a unit: 90s, 30m, 2h, 7d.

Exit codes:
  0  done
  1  failed: the file cannot be used
  2  wrong usage, or there is no such file
  3  an entry's state did not allow it; the message says which and why

Examples:
  $ countersign inbox stats
  $ countersign inbox list --state dead,quarantined --newer-than 2d
  $ countersign inbox show 17 --body
  $ countersign inbox retry 17 18
  $ countersign inbox retry --state dead --type transfers.book-completed --dry-run
  $ countersign inbox release 23
  $ countersign inbox discard --state quarantined --older-than 30d --yes
  $ countersign inbox prune --older-than 14d
  $ countersign inbox export --state dead --output dead.jsonl`

interface FileOption {
  readonly file: string
}

interface FilterOptions {
  readonly state?: InboxState[]
  readonly type?: string
  readonly key?: string
  readonly olderThan?: number
  readonly newerThan?: number
}

interface BulkOptions extends FileOption, FilterOptions {
  readonly by?: string
  readonly dryRun?: true
  readonly yes?: true
  readonly json?: true
}

const PAGE = 500

export const defineInbox: DefineCommand = (program, io, finish) => {
  const inbox = program
    .command('inbox')
    .description('Look at what a receiver has stored, and decide what becomes of it.')
    .addHelpText('after', HELP)
  const command = (name: string, description: string): Command =>
    inbox
      .command(name)
      .description(description)
      .option(
        '-f, --file <file>',
        "the inbox's file (or COUNTERSIGN_INBOX)",
        io.env['COUNTERSIGN_INBOX'] ?? 'callbacks.db',
      )
      .addHelpText('after', HELP)

  command('stats', 'How many entries there are in each state.')
    .option('--json', 'print JSON')
    .action(async (options: FileOption & { json?: true }) => {
      finish(await withInbox(options, io, async (opened) => stats(opened, options, io)))
    })

  filtered(command('list', 'The entries, oldest first.'))
    .option('--limit <number>', 'how many at most', positiveNumber, 100)
    .option('--json', 'print JSON')
    .action(async (options: FileOption & FilterOptions & { limit: number; json?: true }) => {
      finish(await withInbox(options, io, async (opened) => list(opened, options, io)))
    })

  command('show', 'All that is known of one entry.')
    .argument('<id>', 'the number of the entry', positiveNumber)
    .option('--body', 'with the body, which may be confidential')
    .option('--json', 'print JSON')
    .action(async (id: number, options: FileOption & { body?: true; json?: true }) => {
      finish(await withInbox(options, io, async (opened) => show(opened, id, options, io)))
    })

  for (const [action, description] of Object.entries(ACTIONS) as [OperatorAction, string][]) {
    filtered(command(action, description))
      .argument(
        '[ids...]',
        'the numbers of the entries; or say which by their state, type, key or age',
        (id: string, before: number[] | undefined) => [...(before ?? []), positiveNumber(id)],
      )
      .option('--by <name>', 'who decides this, for the history (default: the user of this system)')
      .option('--dry-run', 'say what would be done')
      .option('--yes', 'do it to more than one entry that was not named by its number')
      .option('--json', 'print JSON')
      .action(async (ids: number[] | undefined, options: BulkOptions) => {
        finish(await withInbox(options, io, async (opened) => act(opened, action, ids ?? [], options, io)))
      })
  }

  command(
    'prune',
    'Delete what was handled or discarded long ago, a week at least. Nothing else is ever deleted.',
  )
    .requiredOption('--older-than <age>', 'finished longer ago than this', age)
    .option('--state <state>', `${PRUNABLE.join(' or ')} (default: both)`, prunable)
    .option('--dry-run', 'say how many')
    .option('--json', 'print JSON')
    .action(async (options: PruneOptions) => {
      finish(await withInbox(options, io, async (opened) => prune(opened, options, io)))
    })

  filtered(command('export', 'Entries with body and history, as one line of JSON each.'))
    .option('-o, --output <file>', 'a new file that only you may read (default: standard output)')
    .action(async (options: FileOption & FilterOptions & { output?: string }) => {
      finish(await withInbox(options, io, async (opened) => exportEntries(opened, options, io)))
    })
}

const ACTIONS: Record<OperatorAction, string> = {
  retry: 'Have entries handled once more: dead, unhandled or retrying ones now, handled ones again.',
  release: 'Have entries in quarantine handled.',
  discard: 'Put entries aside that will not be handled.',
}

function filtered(command: Command): Command {
  return command
    .option('--state <states>', 'in these states, separated by commas', states)
    .option('--type <type>', 'of this event type')
    .option('--key <uuid>', 'with this idempotency key', (key) => key.toLowerCase())
    .option('--older-than <age>', 'received longer ago than this', age)
    .option('--newer-than <age>', 'received since then', age)
}

/** A missing file is not made: to look at the wrong place must not look like an empty inbox. */
async function withInbox(
  { file }: FileOption,
  io: Io,
  use: (inbox: Inbox) => Promise<ExitCode>,
): Promise<ExitCode> {
  const path = resolve(io.cwd(), file)
  if (!existsSync(path)) {
    throw new UsageError(
      `there is no inbox ${file} (${path}): name it with --file, or go where the configuration is`,
    )
  }
  const inbox = new SqliteInbox({ file: path })
  try {
    await inbox.open()
    return await use(inbox)
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    io.stderr.write(`countersign: ${error.message}\n`)
    return EXIT.failed
  } finally {
    await inbox.close()
  }
}

async function stats(inbox: Inbox, { json }: { json?: true }, io: Io): Promise<ExitCode> {
  const { oldestUnfinished, ...counts } = await inbox.stats()
  if (json) printJson(io, { ...counts, oldestUnfinished: oldestUnfinished ?? null })
  else {
    io.stdout.write(table(Object.entries(counts).map(([state, count]) => [state, String(count)])))
    if (oldestUnfinished)
      io.stdout.write(`the oldest unfinished one arrived ${oldestUnfinished.toISOString()}\n`)
  }
  return EXIT.done
}

async function list(
  inbox: Inbox,
  options: FilterOptions & { limit: number; json?: true },
  io: Io,
): Promise<ExitCode> {
  const entries: EntrySummary[] = []
  for await (const entry of every(inbox, filterOf(options))) {
    if (entries.push(entry) === options.limit) break
  }
  if (options.json) printJson(io, entries)
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

async function show(
  inbox: Inbox,
  id: number,
  { body, json }: { body?: true; json?: true },
  io: Io,
): Promise<ExitCode> {
  const entry = await inbox.show(id)
  if (!entry) {
    io.stderr.write(`countersign: there is no entry ${id}\n`)
    return EXIT.unexpected
  }
  const { rawBody, history, subscription, ...rest } = entry
  if (json) {
    printJson(io, { ...rest, subscription, history, ...(body && { bodyBase64: rawBody.toString('base64') }) })
    return EXIT.done
  }
  const fields = {
    ...rest,
    subscription: `${subscription.eventTypeName} ${withoutQuery(subscription.callbackUrl)}`,
  }
  io.stdout.write(table(Object.entries(fields).map(([name, value]) => [name, printable(shown(value))])))
  io.stdout.write(`body       ${rawBody.length} bytes${body ? '' : '; --body prints them'}\n`)
  for (const { at, action, by } of history)
    io.stdout.write(`history    ${at.toISOString()} ${action} by ${printable(by)}\n`)
  if (body) io.stdout.write(`\n${printable(rawBody.toString('utf8'))}\n`)
  return EXIT.done
}

function shown(value: Date | string | number | undefined): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}

async function act(
  inbox: Inbox,
  action: OperatorAction,
  ids: readonly number[],
  options: BulkOptions,
  io: Io,
): Promise<ExitCode> {
  const chosen = ids.length > 0 ? ids : await bulk(inbox, action, options)
  if (ids.length === 0 && chosen.length > 1 && !options.dryRun && !options.yes) {
    throw new UsageError(
      `${action} would change ${chosen.length} entries: look with --dry-run, and then add --yes`,
    )
  }
  const by = options.by ?? userInfo().username
  const results: { id: number; done: boolean; why?: string }[] = []
  for (const id of chosen) {
    const why = options.dryRun ? undefined : await inbox.act(id, action, by)
    results.push(why === undefined ? { id, done: !options.dryRun } : { id, done: false, why })
  }
  if (options.json) printJson(io, { action, dryRun: options.dryRun ?? false, results })
  else {
    for (const { id, why } of results) {
      const said = why ?? (options.dryRun ? `entry ${id}: would ${action}` : `entry ${id}: ${action}`)
      ;(why ? io.stderr : io.stdout).write(`${said}\n`)
    }
    if (results.length === 0) io.stdout.write('none\n')
  }
  return results.some(({ why }) => why) ? EXIT.unexpected : EXIT.done
}

/** What the filter picks, of those whose state allows the action. */
async function bulk(inbox: Inbox, action: OperatorAction, options: BulkOptions): Promise<number[]> {
  const filter = filterOf(options)
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

interface PruneOptions extends FileOption {
  readonly olderThan: number
  readonly state?: (typeof PRUNABLE)[number]
  readonly dryRun?: true
  readonly json?: true
}

async function prune(
  inbox: Inbox,
  { olderThan, state, dryRun, json }: PruneOptions,
  io: Io,
): Promise<ExitCode> {
  const before = Date.now() - Math.max(olderThan, inbox.retentionMs)
  let pruned = 0
  for (const each of state ? [state] : PRUNABLE) {
    if (dryRun) {
      for await (const { finishedAt } of every(inbox, { states: [each] }))
        if (Number(finishedAt) < before) pruned++
    } else {
      let step = PAGE
      while (step === PAGE) pruned += step = await inbox.prune(each, before, PAGE)
    }
  }
  if (json) printJson(io, { pruned, dryRun: dryRun ?? false })
  else io.stdout.write(`${pruned} ${dryRun ? 'would be deleted' : 'deleted'}\n`)
  return EXIT.done
}

async function exportEntries(
  inbox: Inbox,
  options: FilterOptions & { output?: string },
  io: Io,
): Promise<ExitCode> {
  // Never over an existing file, and for nobody else's eyes: it holds payloads.
  const file =
    options.output === undefined ? undefined : await open(resolve(io.cwd(), options.output), 'wx', 0o600)
  try {
    for await (const { id } of every(inbox, filterOf(options))) {
      const entry = await inbox.show(id)
      if (!entry) continue
      const line = `${JSON.stringify(portable(entry))}\n`
      if (file) await file.write(line)
      else io.stdout.write(line)
    }
  } finally {
    await file?.close()
  }
  return EXIT.done
}

function portable({ rawBody, ...entry }: Entry): object {
  return { ...entry, bodyBase64: rawBody.toString('base64') }
}

/** Page by page: there may be a million. */
async function* every(inbox: Inbox, filter: EntryFilter): AsyncGenerator<EntrySummary> {
  let afterId = 0
  for (;;) {
    const page = await inbox.list(filter, { afterId, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    afterId = page.at(-1)!.id
  }
}

function filterOf({ state, type, key, olderThan, newerThan }: FilterOptions): EntryFilter {
  const now = Date.now()
  return {
    states: state,
    eventType: type,
    idempotencyKey: key,
    before: olderThan === undefined ? undefined : now - olderThan,
    after: newerThan === undefined ? undefined : now - newerThan,
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function age(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('Use a number and a unit: 90s, 30m, 2h, 7d.')
  return Number(count) * UNITS[unit!]!
}

function states(text: string): InboxState[] {
  const named = text.split(',').map((state) => state.trim())
  if (named.every((state) => Object.hasOwn(NO_ENTRIES, state))) return named as InboxState[]
  throw new InvalidArgumentError(`Use states separated by commas: ${Object.keys(NO_ENTRIES).join(', ')}.`)
}

function prunable(text: string): (typeof PRUNABLE)[number] {
  const state = PRUNABLE.find((each) => each === text)
  if (state) return state
  throw new InvalidArgumentError(`Use ${PRUNABLE.join(' or ')}.`)
}
