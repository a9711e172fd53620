import { ownSubscriptionId, type EntryId } from '../../../callback/callback.js'
import type { InboxOperations } from '../../../inbox/operations.js'
import { withoutQuery } from '../../../callback/subscriptions.js'
import { complain, EXIT, printJson, type ExitCode, type Io } from '../../io.js'
import { entryId } from '../../option-values.js'
import { fields, widthOf } from '../../table.js'
import { printable } from '../../../base/printable.js'
import { withInbox, type DefineSubcommand, type InboxFlags } from './subcommand.js'

interface ShowFlags extends InboxFlags {
  readonly body?: true
  readonly json?: true
}

export const defineShow: DefineSubcommand = (subcommand, io, finish) => {
  subcommand('show', 'Show one entry with its history.')
    .argument('<id>', 'the id of the entry', entryId)
    .option('--body', 'with the body, which may be confidential')
    .option('--json', 'print JSON')
    .action(async (id: EntryId, flags: ShowFlags) => {
      finish(await withInbox(flags, io, async (inbox) => show(inbox, id, flags, io)))
    })
}

async function show(
  inbox: InboxOperations,
  id: EntryId,
  { body, json }: ShowFlags,
  io: Io,
): Promise<ExitCode> {
  const entry = await inbox.show(id)
  if (!entry) {
    complain(io, `there is no entry ${id}`)
    return EXIT.unexpected
  }
  const { rawBody, history, subscription, ...rest } = entry
  if (json) {
    printJson(io, { ...rest, subscription, history, ...(body && { bodyBase64: rawBody.toString('base64') }) })
    return EXIT.done
  }
  const subscriptionId = ownSubscriptionId(subscription)
  const rows: [string, string][] = [
    ...Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, shown(value)]),
    ['subscription', `${subscription.eventTypeName} ${withoutQuery(subscription.callbackUrl)}`],
    ...(subscriptionId === undefined ? [] : [['subscriptionId', subscriptionId] as [string, string]]),
    ['body', `${rawBody.length} bytes${body ? '' : '; --body prints them'}`],
    ...history.map(({ at, action, by }): [string, string] => [
      'history',
      `${at.toISOString()} ${action} by ${by}`,
    ]),
  ]
  io.stdout.write(fields(rows, widthOf(io.stdout)))
  if (body) io.stdout.write(`\n${printable(rawBody.toString('utf8'))}\n`)
  return EXIT.done
}

function shown(value: Date | string | number | undefined): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}
