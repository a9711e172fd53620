import { CountersignError } from '../../../base/errors.js'
import type { ConfiguredSubscription } from '../../config/config-subscriptions.js'
import type { InboxFlags } from '../../inboxes/find-inbox.js'
import { complain, EXIT, printJson, UsageError, type ExitCode, type Io } from '../../io.js'
import { lastSeen, readableSeen, type LastSeen, type SecretSeen } from '../../service/last-seen.js'
import { fields, fitted, table, widthOf } from '../../table.js'

/** Prints when each secret was last used. @throws UsageError if there is no configuration, or no inbox */
export async function status(
  chosen: readonly ConfiguredSubscription[],
  flags: InboxFlags & { readonly json?: true },
  io: Io,
): Promise<ExitCode> {
  if (chosen.length === 0) {
    throw new UsageError(
      '--status needs a configuration: name it with --config, or write one with the subscriptions and the inbox of the application',
    )
  }
  let seen
  try {
    seen = await lastSeen(chosen, flags, io)
  } catch (error) {
    if (!(error instanceof CountersignError && error.code.startsWith('ERR_INBOX_'))) throw error
    complain(io, error.message)
    return EXIT.failed
  }
  if (flags.json) printJson(io, seen)
  else io.stdout.write(readable(seen, widthOf(io.stdout)))
  return EXIT.done
}

/** A line for each subscription, and below it one for each of its secrets. */
function readable({ secrets, ...looked }: LastSeen, width: number): string {
  const bySubscription = new Map<string, SecretSeen[]>()
  for (const row of secrets) {
    bySubscription.set(row.subscription, [...(bySubscription.get(row.subscription) ?? []), row])
  }
  const layout = { width, narrow: [[2, 16] as const, [1, 12] as const] }
  return [...bySubscription.values()]
    .flatMap((rows) => {
      const { id, subscription, eventTypeName, callbackUrl } = rows[0]!
      return [
        table([[id ?? subscription, eventTypeName, callbackUrl]], layout),
        fields(
          rows.map((row) => {
            const seen = readableSeen(row, { secrets, ...looked })
            const { secret, fingerprint } = row
            return [`  ${fitted(secret, 40)}`, fingerprint ? `${seen}; fingerprint ${fingerprint}` : seen]
          }),
          width,
        ),
      ]
    })
    .join('')
}
