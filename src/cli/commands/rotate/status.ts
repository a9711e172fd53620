import { CountersignError } from '../../../errors.js'
import type { ConfiguredSubscription } from '../../config/config-subscriptions.js'
import type { InboxFlags } from '../../config/inbox-file.js'
import { EXIT, printJson, UsageError, type ExitCode, type Io } from '../../io.js'
import { lastSeen, readableSeen } from '../../service/last-seen.js'
import { printable } from '../../readable-log.js'
import { table } from '../../table.js'

/** Says when each secret was last used. @throws UsageError where there is no configuration, or no inbox. */
export async function status(
  chosen: readonly ConfiguredSubscription[],
  flags: InboxFlags & { readonly json?: true },
  io: Io,
): Promise<ExitCode> {
  if (chosen.length === 0) throw new UsageError('--status needs a configuration: name it with --config')
  let seen
  try {
    seen = await lastSeen(chosen, flags, io)
  } catch (error) {
    if (!(error instanceof CountersignError && error.code.startsWith('ERR_INBOX_'))) throw error
    io.stderr.write(`countersign: ${error.message}\n`)
    return EXIT.failed
  }
  if (flags.json) printJson(io, seen)
  else {
    io.stdout.write(
      table(
        seen.secrets.map((row) => [
          row.id === undefined ? row.subscription : printable(row.id),
          printable(row.eventTypeName),
          printable(row.callbackUrl),
          printable(row.secret),
          printable(readableSeen(row, seen)),
        ]),
      ),
    )
  }
  return EXIT.done
}
