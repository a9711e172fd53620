import { createAuthenticator } from '../../authenticator.js'
import type { Subscription } from '../../callback.js'
import { CountersignError } from '../../errors.js'
import { parseServerOptions } from '../../http/server.js'
import { silentLogger, type Logger } from '../../logger.js'
import { parseReceiverOptions } from '../../receiver-options.js'
import { withoutQuery, type Subscriptions } from '../../subscriptions.js'
import { countEntries, readableEntries, type InboxEntries } from './check-inbox.js'
import { loadSettings, type ServeFlags, type Settings } from './config.js'
import type { InboxSetting } from './inbox-setting.js'
import { EXIT, printJson, type ExitCode, type Io } from '../io.js'
import { printable } from '../terminal.js'
import { blaming, standaloneReceiver, type Handled } from './standalone-receiver.js'
import { table, widthOf, wrapped } from '../table.js'

interface Warning {
  readonly code: string
  readonly message: string
  readonly eventTypeName?: string
  readonly callbackUrl?: string
}

interface Summary {
  readonly valid: true
  readonly config: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly subscriptions: readonly SubscriptionSummary[] | 'looked up by a function'
  readonly handlers: { readonly types: readonly string[]; readonly any: boolean; readonly unhandled: boolean }
  readonly limits: Readonly<Record<string, number>>
  /** Where callbacks are kept, or null where handlers run before the answer. */
  readonly inbox: string | null
  readonly inboxEntries: InboxEntries
  readonly idempotencyStore: 'memory' | 'own' | null
  readonly warnings: readonly Warning[]
}

interface SubscriptionSummary {
  /** The one that it was given, if any. */
  readonly id?: string | undefined
  readonly eventTypeName: string
  /** Without its query: people put tokens into queries. */
  readonly callbackUrl: string
  readonly secrets: number
  readonly handled: boolean
}

/** `serve --check`: everything that `serve` does before it listens, and then what it found. */
export async function checkConfig(flags: ServeFlags & { json?: true }, io: Io): Promise<ExitCode> {
  let summary
  try {
    summary = await summarize(await loadSettings(flags, io))
  } catch (error) {
    if (!flags.json || !(error instanceof CountersignError)) throw error
    printJson(io, { valid: false, code: error.code, message: error.message })
    return EXIT.usage
  }
  if (flags.json) printJson(io, summary)
  else io.stdout.write(readable(summary, widthOf(io.stdout)))
  return EXIT.done
}

async function summarize(settings: Settings): Promise<Summary> {
  const warnings: Warning[] = []
  const log = collector(warnings)
  const { handled } = await standaloneReceiver(settings, log)
  // Said by the receiver itself when it starts; to start it here would make the inbox's file.
  if (handled.types.size === 0 && !handled.any && !handled.unhandled) {
    log.warn({ code: 'WARN_NO_HANDLERS' }, 'no handler is registered: no callback will be handled')
  }
  const { host, port, ...serverLimits } = blaming(settings, () => parseServerOptions(settings.server))
  const options = settings.receiver
  const { limits, handlerTimeoutMs, leaseMs, stopTimeoutMs } = parseReceiverOptions(options)
  const { toleranceMs, futureToleranceMs, dependencyTimeoutMs } = createAuthenticator(
    'serve',
    options,
    silentLogger,
  )
  return {
    valid: true,
    config: settings.file.path,
    listen: { host, port },
    subscriptions: summarizeSubscriptions(options.subscriptions, handled),
    handlers: { ...handled, types: [...handled.types] },
    limits: {
      toleranceMs,
      futureToleranceMs,
      ...limits,
      handlerTimeoutMs,
      leaseMs,
      dependencyTimeoutMs,
      stopTimeoutMs,
      ...serverLimits,
    },
    inbox: inboxSummary(settings.inbox),
    inboxEntries: await countEntries(settings.inbox, log),
    idempotencyStore: settings.inbox.kind === 'none' ? (options.store ? 'own' : 'memory') : null,
    warnings,
  }
}

function inboxSummary(inbox: InboxSetting): string | null {
  if (inbox.kind === 'none') return null
  return inbox.kind === 'own' ? 'of its own' : inbox.options.file
}

function summarizeSubscriptions(
  subscriptions: Subscriptions,
  { types, any, unhandled }: Handled,
): Summary['subscriptions'] {
  if (typeof subscriptions === 'function') return 'looked up by a function'
  return subscriptions.map(({ id, eventTypeName, callbackUrl, secret }: Subscription) => ({
    id,
    eventTypeName,
    callbackUrl: withoutQuery(callbackUrl),
    secrets: [secret].flat().length,
    handled: any || unhandled || types.has(eventTypeName),
  }))
}

function collector(warnings: Warning[]): Logger {
  const warn = (fields: object, message: string) => {
    const { code, eventTypeName, subscription } = fields as {
      code: string
      eventTypeName?: string
      subscription?: Pick<SubscriptionSummary, 'eventTypeName' | 'callbackUrl'>
    }
    warnings.push({
      code,
      message,
      ...(eventTypeName === undefined ? {} : { eventTypeName }),
      ...subscription,
    })
  }
  return { ...silentLogger, warn }
}

function readable(
  {
    config,
    listen,
    subscriptions,
    handlers,
    limits,
    inbox,
    inboxEntries,
    idempotencyStore,
    warnings,
  }: Summary,
  width: number,
): string {
  const handledTypes = [
    ...handlers.types,
    ...(handlers.any ? ['(every type)'] : []),
    ...(handlers.unhandled ? ['(types without a handler)'] : []),
  ]
  const subscriptionRows =
    typeof subscriptions === 'string'
      ? [[`  ${subscriptions}`]]
      : subscriptions.map(({ id, eventTypeName, callbackUrl, secrets, handled }) => [
          `  ${id === undefined ? eventTypeName : `${eventTypeName} (id ${id})`}`,
          callbackUrl,
          secrets === 1 ? '1 secret' : `${secrets} secrets`,
          handled ? 'handled' : 'NO HANDLER',
        ])
  return [
    `${printable(config)} is valid.\n`,
    `listen on ${printable(listen.host)} port ${listen.port}\n`,
    inbox === null
      ? `no inbox: handlers run before the answer; idempotency store: ${idempotencyStore}\n`
      : `inbox: ${printable(inbox)}\n${readableEntries(inboxEntries)}`,
    `subscriptions\n${table(subscriptionRows, {
      width,
      narrow: [
        [1, 16],
        [0, 12],
      ],
    })}`,
    `handlers\n${table(
      (handledTypes.length === 0 ? ['none'] : handledTypes).map((type) => [`  ${type}`]),
      { width, narrow: [[0, 12]] },
    )}`,
    `limits\n${table(Object.entries(limits).map(([name, value]) => [`  ${name}`, value.toLocaleString('en')]))}`,
    warnings.length === 0
      ? 'no warnings\n'
      : `warnings\n${warnings.map((warning) => readableWarning(warning, width)).join('')}`,
  ].join('\n')
}

function readableWarning({ code, message, eventTypeName, callbackUrl }: Warning, width: number): string {
  const where = callbackUrl === undefined ? '' : `${eventTypeName} ${callbackUrl}: `
  const lines = wrapped(where + message, width - 4).map((line) => `    ${line}\n`)
  return `  ${code}\n${lines.join('')}`
}
