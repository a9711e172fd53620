import { ENGINE } from '../../inbox/inbox.js'
import { CountersignError } from '../../base/errors.js'
import type { Subscription } from '../../callback/callback.js'
import { withoutQuery, type Subscriptions } from '../../callback/subscriptions.js'
import { warnOfGaps, type Handled } from '../../handlers/handler-gaps.js'
import { HANDLERS } from '../../handlers/registration.js'
import type { DatabaseState } from '../../inbox/postgres/look-at-database.js'
import { silentLogger, type Logger } from '../../logging/logger.js'
import type { ReceiverSettings } from '../../receiver/settings.js'
import { selfCheck } from '../../receiver/self-check/self-check.js'
import type { AdminSettings } from '../../server/admin-server.js'
import { withinOpenFiles } from '../../server/open-files.js'
import { warnOfConcurrency } from '../../worker/concurrency.js'
import { createAdmin } from '../admin.js'
import { warnOfOpenMetrics } from './admin-setting.js'
import { checkAddress } from './check-address.js'
import type { InboxEntries } from '../inboxes/configured-inbox.js'
import { withOrigin } from './option-origin.js'
import type { ConfiguredStore } from './redis-store.js'
import type { Settings } from './settings.js'
import { standaloneReceiver } from './standalone-receiver.js'

/** A warning that `serve` would log at its start. */
export interface Warning {
  readonly code: string
  readonly message: string
  readonly eventTypeName?: string
  readonly callbackUrl?: string
}

interface Problem {
  readonly code: string
  readonly message: string
}

/** What `serve --check` prints. */
export interface Summary {
  /** False if `serve` would not start, or if --strict turns warnings into failures. */
  readonly valid: boolean
  readonly config: string
  readonly listen: { readonly host: string; readonly port: number }
  /** Where `/metrics` is served, or null if it is not. */
  readonly admin: {
    readonly host: string
    readonly port: number
    readonly hasToken: boolean
    readonly console: ConsoleSummary | null
  } | null
  readonly subscriptions: readonly SubscriptionSummary[] | 'looked up by a function'
  readonly handlers: { readonly types: readonly string[]; readonly any: boolean; readonly unhandled: boolean }
  readonly limits: Readonly<Record<string, number>>
  /** The inbox, or null if handlers run before the answer. */
  readonly inbox: string | null
  readonly inboxEntries: InboxEntries
  /** What is known of the database of the inbox, or null if it has none. */
  readonly database: DatabaseState | null
  /** Whether this process handles what it stores. */
  readonly worker: boolean
  readonly idempotencyStore: 'memory' | 'own' | 'redis' | null
  /** The Redis server, or null if the store is another one. */
  readonly redisServer: string | null
  readonly warnings: readonly Warning[]
  /** Why `serve` would not start. */
  readonly problems: readonly Problem[]
}

interface ConsoleSummary {
  /** The number of users. 0: no sign-in is required, and nobody may decide. */
  readonly users: number
  readonly bodies: string
  readonly reasonRequired: boolean
}

interface SubscriptionSummary {
  /** The configured id, if there is one. */
  readonly id?: string | undefined
  readonly eventTypeName: string
  /** Without the query, because queries may contain tokens. */
  readonly callbackUrl: string
  readonly secrets: number
  readonly handled: boolean
}

/** Checks everything that `serve` needs. With `strict`, warnings make the configuration invalid. */
export async function summarize(settings: Settings, strict: boolean): Promise<Summary> {
  const problems: Problem[] = []
  const attempt = async <Result>(probe: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return await probe()
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error
      problems.push({ code: error.code, message: error.message })
      return undefined
    }
  }
  const warnings: Warning[] = []
  const log = collector(warnings)
  const { receiver, parsed, store } = await standaloneReceiver(settings, log)
  const handlers = receiver[HANDLERS]
  const handled = handlers.registered
  // The receiver itself logs these warnings at its start, but starting it here would create the file of the inbox.
  warnOfGaps(parsed.checked.subscriptions, handled, log, { hasInbox: settings.inbox !== undefined })
  selfCheck({ ...parsed.checked, logger: log })
  if ('inbox' in parsed.acceptance) {
    const inbox = parsed.acceptance.inbox[ENGINE]
    warnOfConcurrency({ ...parsed.acceptance, inbox, handlers, logger: log })
  }
  const { host, port, ...serverLimits } = withinOpenFiles(settings.server, log)
  await attempt(() => checkAddress(host, port, log))
  const { admin, inbox } = settings
  if (admin) {
    warnOfOpenMetrics(admin, log)
    const create = () => createAdmin('serve', admin, receiver, log)
    const created = await attempt(() => withOrigin(settings.origin, create))
    created?.close()
    await attempt(() => checkAddress(admin.host, admin.port, log))
  }
  const checked = inbox ? await attempt(() => inbox.check(log)) : { entries: null, database: undefined }
  const redisServer = store && ((await attempt(() => checkStore(store))) ?? 'not usable')
  const ownStore = settings.receiver.store ? 'own' : 'memory'
  return {
    valid: problems.length === 0 && (!strict || warnings.length === 0),
    config: settings.file.path,
    listen: { host, port },
    admin: admin ? summarizeAdmin(admin) : null,
    subscriptions: summarizeSubscriptions(settings.receiver.subscriptions, handled),
    handlers: { ...handled, types: [...handled.types] },
    limits: { ...summarizeLimits(parsed), ...serverLimits },
    inbox: (await inbox?.name()) ?? null,
    inboxEntries: checked === undefined ? 'not readable' : checked.entries,
    database: checked?.database ?? null,
    worker: settings.worker,
    idempotencyStore: inbox ? null : store ? 'redis' : ownStore,
    redisServer: redisServer ?? null,
    warnings,
    problems,
  }
}

function summarizeLimits({ authentication, limits, ...handling }: ReceiverSettings): Summary['limits'] {
  const { toleranceMs, futureToleranceMs, dependencyTimeoutMs } = authentication
  const { handlerTimeoutMs, leaseMs, stopTimeoutMs } = handling
  return {
    toleranceMs,
    futureToleranceMs,
    ...limits,
    handlerTimeoutMs,
    leaseMs,
    dependencyTimeoutMs,
    stopTimeoutMs,
  }
}

/** Connects, so that warnings of the server are among the others, and says which server it is. */
async function checkStore(store: ConfiguredStore): Promise<string> {
  try {
    await store.open()
    return await store.describe()
  } finally {
    await store.close()
  }
}

function summarizeAdmin({ host, port, metricsToken, console }: AdminSettings): NonNullable<Summary['admin']> {
  const ofConsole = console && {
    users: console.users.count,
    bodies: console.bodies,
    reasonRequired: console.reasonRequired,
  }
  return { host, port, hasToken: metricsToken !== undefined, console: ofConsole ?? null }
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
