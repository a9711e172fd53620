import { open, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { EntryId } from '../../../callback/callback.js'
import { printableJson } from '../../../base/printable.js'
import type { EntrySummary, InboxOperations } from '../../../inbox/operations.js'
import { complain, EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { positiveNumber, someText } from '../../option-values.js'
import { fitted, tableLines, utcTime, widthOf } from '../../table.js'
import { addFilterOptions, every, filterOf, type FilterFlags } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ListFlags extends InboxFlags, FilterFlags {
  readonly limit?: number
  readonly body?: true
  readonly output?: string
  readonly json?: true
}

/** How many a person reads. */
const MOST_READABLE = 100

export const defineList: DefineSubcommand = (subcommand, io, finish) => {
  addFilterOptions(subcommand('list', 'The entries, oldest first.'))
    .option('--limit <number>', 'how many at most (default: 100; with --json all)', positiveNumber)
    .option('--json', 'print one line of JSON for each entry')
    .option('--body', 'with body and history, which may be confidential; needs --json')
    .option('-o, --output <file>', 'a new file that only you may read; needs --json', someText)
    .action(async (flags: ListFlags) => {
      if (!flags.json && (flags.body || flags.output !== undefined))
        throw new UsageError('--body and --output need --json: a table has neither')
      finish(
        await withInbox(flags, io, async (inbox) =>
          flags.json ? listJson(inbox, flags, io) : listReadable(inbox, flags, io),
        ),
      )
    })
}

async function listReadable(inbox: InboxOperations, flags: ListFlags, io: Io): Promise<ExitCode> {
  const { limit = MOST_READABLE } = flags
  const entries: EntrySummary[] = []
  let hasMore = false
  for await (const entry of every(inbox, filterOf(flags))) {
    hasMore = entries.length === limit
    if (hasMore) break
    entries.push(entry)
  }
  io.stdout.write(entries.length === 0 ? 'none\n' : readable(entries, widthOf(io.stdout)))
  // The latest entries, which are those that an operator looks for, are not in the list.
  if (hasMore)
    complain(io, `these are the oldest ${limit}, and there are more: raise --limit, or use a filter`)
  return EXIT.done
}

async function listJson(inbox: InboxOperations, flags: ListFlags, io: Io): Promise<ExitCode> {
  const file = flags.output === undefined ? undefined : await newFile(flags.output, io)
  let left = flags.limit ?? Infinity
  try {
    for await (const summary of every(inbox, filterOf(flags))) {
      if (left-- === 0) {
        complain(
          io,
          `these are the oldest ${flags.limit}, and there are more: raise --limit, or use a filter`,
        )
        break
      }
      const entry = flags.body ? await withBody(inbox, summary.id) : summary
      if (!entry) continue
      const line = `${printableJson(JSON.stringify(entry))}\n`
      // Not file.write(), which may write a part of the line.
      if (file) await file.appendFile(line)
      else if (!(await isTaken(line, io))) break
    }
  } finally {
    await file?.close()
  }
  return EXIT.done
}

/** Waits for a slow reader, as the entries may be more than the memory. False if the reader has ended. */
function isTaken(line: string, { stdout }: Io): Promise<boolean> {
  return new Promise((resolve) => stdout.write(line, (error) => resolve(!error)))
}

/** The file holds payloads: only its owner may read it, and an existing file is not overwritten. @throws UsageError */
async function newFile(name: string, io: Io): Promise<FileHandle> {
  try {
    return await open(resolve(io.cwd(), name), 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      code === 'EEXIST'
        ? `--output: ${name} exists and is not overwritten: name a new file`
        : `--output: cannot create ${name} (${code}): name a new file in a folder that you can write`,
    )
  }
}

/** Undefined if the entry was pruned in the meantime. */
async function withBody(inbox: InboxOperations, id: EntryId): Promise<object | undefined> {
  const found = await inbox.show(id)
  if (!found) return undefined
  const { rawBody, ...entry } = found
  return { ...entry, bodyBase64: rawBody.toString('base64') }
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
