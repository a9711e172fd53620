import { ownSubscriptionId, type EntryId } from '../../../callback/callback.js'
import type { Attempt, InboxOperations, OperatorRecord } from '../../../inbox/operations.js'
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
  const { rawBody, history, subscription, headers, attemptHistory, ...rest } = entry
  if (json) {
    const all = { ...rest, subscription, headers, attemptHistory, history }
    printJson(io, { ...all, ...(body && { bodyBase64: rawBody.toString('base64') }) })
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
    ...(headers?.pairs ?? []).map(([name, value]): [string, string] => ['header', `${name}: ${value}`]),
    ...(headers?.isCut ? [['header', '(the rest was not stored)'] as [string, string]] : []),
    ...attemptHistory.map((attempt): [string, string] => ['attempt', attemptText(attempt)]),
    ...history.map((record): [string, string] => ['history', recordText(record)]),
  ]
  io.stdout.write(fields(rows, widthOf(io.stdout)))
  if (body) io.stdout.write(`\n${printable(rawBody.toString('utf8'))}\n`)
  return EXIT.done
}

function attemptText({ number, startedAt, endedAt, result, code, error }: Attempt): string {
  const times = `${startedAt.toISOString()}${endedAt ? ` to ${endedAt.toISOString()}` : ''}`
  const why = [code, error].filter((text) => text !== undefined).join(', ')
  return `${number}, ${times}: ${result}${why === '' ? '' : ` (${why})`}`
}

function recordText({ at, action, by, reason }: OperatorRecord): string {
  return `${at.toISOString()} ${action} by ${by}${reason === undefined ? '' : `: ${reason}`}`
}

function shown(value: Date | string | number | undefined): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}
