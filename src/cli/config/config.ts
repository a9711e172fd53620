import { parseServerOptions, SERVER_OPTIONS, type ServerSettings } from '../../server/server.js'
import { adminSetting } from './admin-setting.js'
import { captureSetting } from './capture-setting.js'
import type { Tolerance } from '../../callback/authenticate.js'
import { checkKnownOptions, invalidOption } from '../../base/option-checks.js'
import { RECEIVER_OPTIONS, type ReceiverOptions } from '../../receiver/settings.js'
import { hasDefaultConfig, loadConfigFile, type ConfigFile } from './config-file.js'
import { resolveSecrets } from './config-secrets.js'
import { loadEnvFile, variable } from '../environment.js'
import { secretsIn } from './connection-string.js'
import { inboxSetting, readyInboxSetting, type ReadyInboxSetting } from './inbox-setting.js'
import { openTelemetrySetting } from './open-telemetry-setting.js'
import { withOrigin, type OptionOrigin } from './option-origin.js'
import type { OpenTelemetry } from '../../telemetry/opentelemetry/open-telemetry.js'
import type { Io } from '../io.js'
import type { AdminSettings } from '../../server/admin-server.js'
import type { HealthServerOptions } from '../../server/health-server.js'
import { WORKER_OPTIONS, type WorkerOptions } from '../../worker/worker-options.js'
import { LOG_FORMATS, LOG_LEVELS, type LogOptions } from '../log.js'
import { redisSetting, secretsOfUrl, type RedisSetting } from './redis-setting.js'

/** The command line of `serve` and `work`. */
export interface ServeFlags {
  readonly config?: string | undefined
  readonly envFile?: string
  readonly host?: string
  readonly port?: number
  readonly toleranceMs?: number
  readonly maxBodyBytes?: number
  readonly shutdownDelayMs?: number
  readonly inbox?: string
  /** False: the process only stores callbacks. */
  readonly worker?: boolean
  readonly healthPort?: number
  readonly adminPort?: number
  readonly logLevel?: string
  readonly logFormat?: string
}

/** What a configuration says, whatever command it is for. */
export interface CommonSettings {
  readonly file: ConfigFile
  /** What to make an inbox of, an inbox, or nothing: handlers run before the answer. */
  readonly inbox: ReadyInboxSetting
  /** As in the file, unchecked. */
  readonly handlers: unknown
  readonly log: LogOptions
  /** Where `/metrics` is served; undefined: nowhere. */
  readonly admin: AdminSettings | undefined
  /** Undefined: there are no spans, and its API is not loaded. */
  readonly openTelemetry: OpenTelemetry | undefined
  /** Where an option was set, for messages: a flag, an environment variable, or the file. */
  readonly origin: OptionOrigin
}

/** For `serve`. */
export interface Settings extends CommonSettings {
  /** Whether this process handles what it stores. */
  readonly worker: boolean
  readonly server: ServerSettings
  readonly receiver: ReceiverOptions
  /** The settings of a Redis store; undefined if `receiver.store` or the default is the store. */
  readonly redis: RedisSetting | undefined
}

/** For `work`. */
export interface WorkSettings extends CommonSettings {
  readonly worker: Omit<WorkerOptions, 'inbox'>
  /** The tolerances of the receivers, unchecked. A worker must not delete entries whose callbacks receivers would accept again. */
  readonly tolerance: Partial<Tolerance>
  readonly health: HealthServerOptions
}

// The inbox and the logger are created from the configuration.
const PASSED_ON = RECEIVER_OPTIONS.filter((name) => name !== 'inbox' && name !== 'logger')

const WORKER_PASSED_ON = WORKER_OPTIONS.filter((name) => name !== 'inbox' && name !== 'logger')

const KNOWN = [
  ...SERVER_OPTIONS,
  ...PASSED_ON,
  'handlers',
  'inbox',
  'worker',
  'healthPort',
  'admin',
  'openTelemetry',
  'logLevel',
  'logFormat',
] as const

type Option = (typeof KNOWN)[number]

/** The values that are set, unchecked. */
export interface ConfigValues {
  readonly file: ConfigFile
  readonly values: Readonly<Partial<Record<Option, unknown>>>
  readonly origin: OptionOrigin
}

/** The options that can also be set outside the file. */
const OVERRIDES = {
  host: { flag: '--host', variable: 'COUNTERSIGN_HOST', isNumber: false },
  port: { flag: '--port', variable: 'COUNTERSIGN_PORT', isNumber: true },
  toleranceMs: { flag: '--tolerance-ms', variable: 'COUNTERSIGN_TOLERANCE_MS', isNumber: true },
  maxBodyBytes: { flag: '--max-body-bytes', variable: 'COUNTERSIGN_MAX_BODY_BYTES', isNumber: true },
  shutdownDelayMs: {
    flag: '--shutdown-delay-ms',
    variable: 'COUNTERSIGN_SHUTDOWN_DELAY_MS',
    isNumber: true,
  },
  healthPort: { flag: '--health-port', variable: 'COUNTERSIGN_HEALTH_PORT', isNumber: true },
  inbox: { flag: '--inbox', variable: 'COUNTERSIGN_INBOX', isNumber: false },
  logLevel: { flag: '--log-level', variable: 'COUNTERSIGN_LOG_LEVEL', isNumber: false },
  logFormat: { flag: '--log-format', variable: 'COUNTERSIGN_LOG_FORMAT', isNumber: false },
} as const satisfies Partial<Record<Option, { flag: string; variable: string; isNumber: boolean }>>

/**
 * The settings of `serve`, with the precedence flag, environment, file. parseReceiverOptions checks the options of
 * the receiver.
 * @throws CountersignError ERR_CONFIG_NOT_FOUND, ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function loadSettings(flags: ServeFlags, io: Io): Promise<Settings> {
  const loaded = await loadFirst(flags, io)
  const { file, values } = loaded
  const subscriptions = await resolveSecrets(values.subscriptions, file, io.env)
  const redis = await redisSetting(values.store, file, io.env)
  const settings = await commonSettings({ ...loaded, values: { ...values, subscriptions } }, io)
  const worker = hasWorker(loaded, settings.inbox)
  return {
    ...settings,
    worker,
    handlers: worker ? settings.handlers : undefined,
    log: { ...settings.log, secrets: [...settings.log.secrets, ...(redis ? secretsOfUrl(redis) : [])] },
    server: withOrigin(settings.origin, () => parseServerOptions(pick(values, SERVER_OPTIONS))),
    // Not checked here: parseReceiverOptions does.
    receiver: {
      ...pick(values, PASSED_ON),
      ...captureSetting(values.capture, file),
      subscriptions,
      ...(redis && { store: undefined }),
    } as ReceiverOptions,
    redis,
  }
}

/**
 * What `work` is to do, from the same file. The secrets of the subscriptions are not looked up: a worker does not need them.
 * @throws CountersignError as `loadSettings` does
 */
export async function loadWorkSettings(flags: ServeFlags, io: Io): Promise<WorkSettings> {
  const loaded = await loadFirst(flags, io)
  return {
    ...(await commonSettings(loaded, io)),
    worker: pick(loaded.values, WORKER_PASSED_ON),
    tolerance: pick(loaded.values, ['toleranceMs', 'futureToleranceMs']),
    health: pick(loaded.values, ['host', 'healthPort']),
  }
}

async function loadFirst(flags: ServeFlags, io: Io): Promise<ConfigValues> {
  // Before the file is loaded, as it may use process.env.
  if (flags.envFile !== undefined) await loadEnvFile(flags.envFile, io)
  return loadValues(flags, io)
}

async function commonSettings({ file, values, origin }: ConfigValues, io: Io): Promise<CommonSettings> {
  const oneOf = <Word extends string>(option: Option, words: readonly Word[], fallback: Word): Word => {
    const word = words.find((each) => each === (values[option] ?? fallback))
    if (word) return word
    throw invalidOption(origin(option), option, values[option], `use one of ${words.join(', ')}`)
  }
  const level = oneOf('logLevel', LOG_LEVELS, 'info')
  const format = oneOf('logFormat', LOG_FORMATS, io.stdout.isTTY ? 'readable' : 'json')
  const inbox = await readyInboxSetting(inboxSetting(values, file, origin), file, io.env)
  const ofDatabase = inbox.kind === 'postgres' ? secretsIn(inbox.connectionString) : []
  const admin = await adminSetting(values.admin, file, io.env, origin)
  const ofAdmin = admin?.secrets ?? []
  const secrets = [...secretsOf(values.subscriptions), ...clientSecret(io), ...ofDatabase, ...ofAdmin]
  return {
    file,
    inbox,
    handlers: values.handlers,
    log: { level, format, secrets },
    admin: admin?.settings,
    openTelemetry: await openTelemetrySetting(values.openTelemetry, origin),
    origin,
  }
}

/** @throws CountersignError ERR_OPTION_INVALID */
function hasWorker({ values, origin }: ConfigValues, inbox: ReadyInboxSetting): boolean {
  const { worker = true } = values
  if (typeof worker !== 'boolean') {
    throw invalidOption(origin('worker'), 'worker', worker, 'use false to store callbacks only, or true')
  }
  if (worker || inbox.kind !== 'none') return worker
  const cure = 'there is no inbox to store callbacks in: configure an inbox, or leave this out'
  throw invalidOption(origin('worker'), 'worker', worker, cure)
}

/**
 * The values from flag, environment and file, in this order of precedence. The secrets that the file refers to are
 * not read.
 * @throws CountersignError ERR_CONFIG_NOT_FOUND, ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function loadValues(flags: Omit<ServeFlags, 'envFile'>, io: Io): Promise<ConfigValues> {
  const file = await loadConfigFile(flags.config ?? variable(io, 'COUNTERSIGN_CONFIG'), io.cwd())
  checkKnownOptions(file.name, file.content, KNOWN)
  const { values, origins } = override(file.content as Partial<Record<Option, unknown>>, flags, io)
  return { file, values, origin: (option) => origins.get(option) ?? file.name }
}

/** Whether there is a configuration file, named or with a default name. */
export function hasConfig({ config }: Pick<ServeFlags, 'config'>, io: Io): boolean {
  return (config ?? variable(io, 'COUNTERSIGN_CONFIG')) !== undefined || hasDefaultConfig(io.cwd())
}

function override(
  content: Partial<Record<Option, unknown>>,
  flags: ServeFlags,
  io: Io,
): { values: Partial<Record<Option, unknown>>; origins: Map<string, string> } {
  const values = { ...content }
  const origins = new Map<string, string>()
  if (flags.worker === false) {
    values.worker = false
    origins.set('worker', '--no-worker')
  }
  const adminPort = flags.adminPort ?? variable(io, ADMIN_PORT)
  if (adminPort !== undefined) {
    // The port differs between processes that share a file; the host does not.
    values.admin = {
      ...(content.admin as object | undefined),
      port: numberIn(adminPort, ADMIN_PORT, 'admin'),
    }
    origins.set('admin', flags.adminPort === undefined ? ADMIN_PORT : '--admin-port')
  }
  for (const option of Object.keys(OVERRIDES) as (keyof typeof OVERRIDES)[]) {
    const { flag, variable: name, isNumber } = OVERRIDES[option]
    const text = variable(io, name)
    if (flags[option] !== undefined) {
      values[option] = flags[option]
      origins.set(option, flag)
    } else if (text !== undefined) {
      values[option] = isNumber ? numberIn(text, name, option) : text
      origins.set(option, name)
    }
  }
  return { values, origins }
}

const ADMIN_PORT = 'COUNTERSIGN_ADMIN_PORT'

function numberIn(text: string | number, name: string, option: Option): number {
  if (/^\d{1,15}$/.test(String(text))) return Number(text)
  throw invalidOption(name, option, text, 'use a whole number')
}

function pick(values: Partial<Record<Option, unknown>>, names: readonly Option[]): object {
  return Object.fromEntries(
    names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  )
}

/** Handlers may use it for their own calls. It may be written in either case (SERVICE 2.2). */
function clientSecret(io: Io): string[] {
  const secret = variable(io, 'COUNTERSIGN_CLIENT_SECRET')
  return secret === undefined ? [] : [secret, secret.toLowerCase(), secret.toUpperCase()]
}

function secretsOf(subscriptions: unknown): string[] {
  if (!Array.isArray(subscriptions)) return []
  return subscriptions
    .flatMap((subscription: { secret?: unknown } | null) => subscription?.secret)
    .filter((secret) => typeof secret === 'string')
}
