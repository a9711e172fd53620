import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Entry, InboxOperations } from '../../../inbox/operations.js'
import { EXIT, type ExitCode, type Io } from '../../io.js'
import { printableJson } from '../../../base/printable.js'
import { addFilterOptions, every, filterOf, type FilterFlags } from './entry-filter.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ExportFlags extends InboxFlags, FilterFlags {
  readonly output?: string
}

export const defineExport: DefineSubcommand = (subcommand, io, finish) => {
  addFilterOptions(subcommand('export', 'Entries with body and history, as one line of JSON each.'))
    .option('-o, --output <file>', 'a new file that only you may read (default: standard output)')
    .action(async (flags: ExportFlags) => {
      finish(await withInbox(flags, io, async (inbox) => exportEntries(inbox, flags, io)))
    })
}

async function exportEntries(inbox: InboxOperations, flags: ExportFlags, io: Io): Promise<ExitCode> {
  // The file holds payloads: only its owner may read it, and an existing file is not overwritten.
  const file =
    flags.output === undefined ? undefined : await open(resolve(io.cwd(), flags.output), 'wx', 0o600)
  try {
    for await (const { id } of every(inbox, filterOf(flags))) {
      const entry = await inbox.show(id)
      if (!entry) continue
      const line = `${printableJson(JSON.stringify(portable(entry)))}\n`
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
