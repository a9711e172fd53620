import { printable } from '../../base/printable.js'
import { table, wrapped } from '../table.js'
import type { DatabaseState } from '../../inbox/postgres/look-at-database.js'
import type { InboxEntries } from '../inboxes/configured-inbox.js'
import type { Summary, Warning } from './check-summary.js'

/** The text that `serve --check` prints without --json. */
export function readableSummary(summary: Summary, width: number): string {
  const { valid, config, listen, admin, limits, warnings } = summary
  return [
    `${printable(config)} is ${valid ? 'valid' : 'not valid, as --strict makes warnings failures'}.\n`,
    `listen on ${printable(listen.host)} port ${listen.port}\n`,
    ...(admin ? readableAdmin(admin) : []),
    readableInbox(summary),
    readableSubscriptions(summary, width),
    readableHandlers(summary, width),
    `limits\n${table(Object.entries(limits).map(([name, value]) => [`  ${name}`, value.toLocaleString('en')]))}`,
    warnings.length === 0
      ? 'no warnings\n'
      : `warnings\n${warnings.map((warning) => readableWarning(warning, width)).join('')}`,
  ].join('\n')
}

function readableAdmin({ host, port, hasToken, console }: NonNullable<Summary['admin']>): string[] {
  return [
    `metrics on ${printable(host)} port ${port}${hasToken ? ', with a token' : ''}\n`,
    ...(console ? [`console there at /console/; users: ${console.users || 'none, view only'}\n`] : []),
  ]
}

function readableInbox({ inbox, inboxEntries, database, idempotencyStore, redisServer }: Summary): string {
  if (inbox !== null) {
    return `inbox: ${printable(inbox)}\n${readableDatabase(database)}${readableEntries(inboxEntries)}`
  }
  const store = redisServer === null ? idempotencyStore : printable(redisServer)
  return `no inbox: handlers run before the answer; idempotency store: ${store}\n`
}

function readableDatabase(database: DatabaseState | null): string {
  if (!database) return ''
  const { serverVersion, schemaVersion, neededVersion } = database
  const schema =
    schemaVersion === 0
      ? `not there yet: the start creates version ${neededVersion}`
      : schemaVersion < neededVersion
        ? `version ${schemaVersion}: the start migrates it to version ${neededVersion}`
        : `version ${schemaVersion}`
  return `  PostgreSQL ${serverVersion}\n  schema: ${schema}\n`
}

function readableEntries(entries: InboxEntries): string {
  if (entries === null) return ''
  if (entries === 'older schema') return '  older schema: the start migrates it\n'
  if (typeof entries === 'string') return `  ${entries}\n`
  const { counts, oldestUnfinishedAt } = entries
  const there = Object.entries(counts).filter(([, count]) => count > 0)
  if (there.length === 0) return '  nothing in it\n'
  const rows = there.map(([state, count]) => [`  ${state}`, count.toLocaleString('en')])
  const oldest =
    oldestUnfinishedAt && `  the oldest unfinished one arrived ${oldestUnfinishedAt.toISOString()}\n`
  return table(rows) + (oldest ?? '')
}

function readableSubscriptions({ subscriptions, worker }: Summary, width: number): string {
  const rows =
    typeof subscriptions === 'string'
      ? [[`  ${subscriptions}`]]
      : subscriptions.map(({ id, eventTypeName, callbackUrl, secrets, handled }) => [
          `  ${id === undefined ? eventTypeName : `${eventTypeName} (id ${id})`}`,
          callbackUrl,
          secrets === 1 ? '1 secret' : `${secrets} secrets`,
          handled ? 'handled' : worker ? 'NO HANDLER' : 'stored only',
        ])
  const narrow: [number, number][] = [
    [1, 16],
    [0, 12],
  ]
  return `subscriptions\n${table(rows, { width, narrow })}`
}

function readableHandlers({ handlers, worker }: Summary, width: number): string {
  const types = [
    ...handlers.types,
    ...(handlers.any ? ['(every type)'] : []),
    ...(handlers.unhandled ? ['(types without a handler)'] : []),
  ]
  const lines = types.length > 0 ? types : [worker ? 'none' : 'none: another process handles']
  return `handlers\n${table(
    lines.map((line) => [`  ${line}`]),
    { width, narrow: [[0, 12]] },
  )}`
}

function readableWarning({ code, message, eventTypeName, callbackUrl }: Warning, width: number): string {
  const where = callbackUrl === undefined ? '' : `${eventTypeName} ${callbackUrl}: `
  const lines = wrapped(where + message, width - 4).map((line) => `    ${line}\n`)
  return `  ${code}\n${lines.join('')}`
}
