import { ownSubscriptionId } from '../../../callback.js'
import type { Inbox } from '../../../inbox/inbox.js'
import { withoutQuery } from '../../../subscriptions.js'
import { EXIT, printJson, type ExitCode, type Io } from '../../io.js'
import { positiveNumber } from '../../option-values.js'
import { printable } from '../../readable-log.js'
import { table } from '../../table.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ShowFlags extends InboxFlags {
  readonly body?: true
  readonly json?: true
}

export const defineShow: DefineSubcommand = (subcommand, io, finish) => {
  subcommand('show', 'All that is known of one entry.')
    .argument('<id>', 'the number of the entry', positiveNumber)
    .option('--body', 'with the body, which may be confidential')
    .option('--json', 'print JSON')
    .action(async (id: number, flags: ShowFlags) => {
      finish(await withInbox(flags, io, async (inbox) => show(inbox, id, flags, io)))
    })
}

async function show(inbox: Inbox, id: number, { body, json }: ShowFlags, io: Io): Promise<ExitCode> {
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
  const { eventTypeName, callbackUrl } = subscription
  const subscriptionId = ownSubscriptionId(subscription)
  const fields = {
    ...rest,
    subscription: `${eventTypeName} ${withoutQuery(callbackUrl)}`,
    ...(subscriptionId !== undefined && { subscriptionId }),
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
