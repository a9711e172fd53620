import { open, type FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Entry, InboxOperations } from '../../../inbox/operations.js'
import { EXIT, UsageError, type ExitCode, type Io } from '../../io.js'
import { printableJson } from '../../../base/printable.js'
import { someText } from '../../option-values.js'
import { addFilterOptions, every, filterOf, type FilterFlags } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ExportFlags extends InboxFlags, FilterFlags {
  readonly output?: string
}

export const defineExport: DefineSubcommand = (subcommand, io, finish) => {
  addFilterOptions(subcommand('export', 'Entries with body and history, as one line of JSON each.'))
    .option('-o, --output <file>', 'a new file that only you may read (default: standard output)', someText)
    .action(async (flags: ExportFlags) => {
      finish(await withInbox(flags, io, async (inbox) => exportEntries(inbox, flags, io)))
    })
}

async function exportEntries(inbox: InboxOperations, flags: ExportFlags, io: Io): Promise<ExitCode> {
  const file = flags.output === undefined ? undefined : await newFile(flags.output, io)
  try {
    for await (const { id } of every(inbox, filterOf(flags))) {
      const entry = await inbox.show(id)
      if (!entry) continue
      const line = `${printableJson(JSON.stringify(portable(entry)))}\n`
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

function portable({ rawBody, ...entry }: Entry): object {
  return { ...entry, bodyBase64: rawBody.toString('base64') }
}
