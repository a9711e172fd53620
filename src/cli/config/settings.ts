import { dirname, resolve } from 'node:path'
import { invalidOption } from '../../base/option-checks.js'
import { refuseSurroundingSpace } from '../../base/surrounding-space.js'
import type { Tolerance } from '../../callback/authenticate.js'
import type { ReceiverOptions } from '../../receiver/settings.js'
import type { AdminSettings } from '../../server/admin-server.js'
import type { HealthServerOptions } from '../../server/health-server.js'
import { parseServerOptions, SERVER_OPTIONS, type ServerSettings } from '../../server/server.js'
import type { OpenTelemetry, OpenTelemetryOptions } from '../../telemetry/opentelemetry/open-telemetry.js'
import { WORKER_OPTIONS, type WorkerOptions } from '../../worker/worker-options.js'
import { loadEnvFile, variable } from '../environment.js'
import type { Io } from '../io.js'
import { LOG_FORMATS, LOG_LEVELS, type LogOptions } from '../log.js'
import { adminSetting, refuseAddressOfAdmin } from './admin-setting.js'
import { optionalPackage, type ConfigFile } from './config-file.js'
import { resolveSecrets } from './config-secrets.js'
import {
  loadValues,
  PASSED_TO_RECEIVER,
  type ConfigValues,
  type Option,
  type ServeFlags,
} from './config-values.js'
import type { ConfiguredInbox } from '../inboxes/configured-inbox.js'
import { inboxSetting } from '../inboxes/inbox-setting.js'
import { withOrigin, type OptionOrigin } from './option-origin.js'
import { redisSetting, secretsOfUrl, type RedisSetting } from './redis-setting.js'

/** What a configuration says, whatever command it is for. */
export interface CommonSettings {
  readonly file: ConfigFile
  /** Undefined: handlers run before the answer. */
  readonly inbox: ConfiguredInbox | undefined
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
const PASSED_TO_WORKER = WORKER_OPTIONS.filter((name) => name !== 'inbox' && name !== 'logger')

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
  const settings = await commonSettings({ ...loaded, values: { ...values, subscriptions } }, flags, io)
  const worker = hasWorker(loaded, settings.inbox)
  const server = await withOrigin(settings.origin, () => parseServerOptions(pick(values, SERVER_OPTIONS)))
  refuseAddressOfAdmin(settings.admin, 'port', server, settings.origin)
  return {
    ...settings,
    worker,
    handlers: worker ? settings.handlers : undefined,
    log: { ...settings.log, secrets: [...settings.log.secrets, ...(redis ? secretsOfUrl(redis) : [])] },
    server,
    // Not checked here: parseReceiverOptions does.
    receiver: {
      ...pick(values, PASSED_TO_RECEIVER),
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
    ...(await commonSettings(loaded, flags, io)),
    worker: pick(loaded.values, PASSED_TO_WORKER),
    tolerance: pick(loaded.values, ['toleranceMs', 'futureToleranceMs']),
    health: pick(loaded.values, ['host', 'healthPort']),
  }
}

async function loadFirst(flags: ServeFlags, io: Io): Promise<ConfigValues> {
  await loadEnvFile(flags.env, io)
  return loadValues(flags, io)
}

async function commonSettings(
  loaded: ConfigValues,
  { verbose = false }: ServeFlags,
  io: Io,
): Promise<CommonSettings> {
  const { file, values, origin } = loaded
  const oneOf = <Word extends string>(option: Option, words: readonly Word[], fallback: Word): Word => {
    const word = words.find((each) => each === (values[option] ?? fallback))
    if (word) return word
    throw invalidOption(origin(option), option, values[option], `use one of ${words.join(', ')}`)
  }
  const level = oneOf('logLevel', LOG_LEVELS, 'info')
  const format = oneOf('logFormat', LOG_FORMATS, io.stdout.isTTY ? 'readable' : 'json')
  const inbox = inboxSetting(loaded, io.env)
  const ofInbox = (await inbox?.secrets()) ?? []
  const admin = await adminSetting(values.admin, file, io.env, origin)
  const ofAdmin = admin?.secrets ?? []
  const secrets = [...secretsOf(values.subscriptions), ...clientSecret(io), ...ofInbox, ...ofAdmin]
  return {
    file,
    inbox,
    handlers: values.handlers,
    log: { level, format, verbose, secrets },
    admin: admin?.settings,
    openTelemetry: await openTelemetrySetting(values.openTelemetry, origin),
    origin,
  }
}

/** @throws CountersignError ERR_OPTION_INVALID */
function hasWorker({ values, origin }: ConfigValues, inbox: ConfiguredInbox | undefined): boolean {
  const { worker = true } = values
  if (typeof worker !== 'boolean') {
    throw invalidOption(origin('worker'), 'worker', worker, 'use false to store callbacks only, or true')
  }
  if (worker || inbox) return worker
  const cure = 'there is no inbox to store callbacks in: configure an inbox, or leave this out'
  throw invalidOption(origin('worker'), 'worker', worker, cure)
}

function pick(values: Partial<Record<Option, unknown>>, names: readonly Option[]): object {
  return Object.fromEntries(
    names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  )
}

/** A relative folder starts from that of the configuration, as the file of the inbox does. Anything else is checked later. */
function captureSetting(capture: unknown, { name, path }: ConfigFile): { capture?: object } {
  if (typeof capture !== 'object' || capture === null || !('folder' in capture)) return {}
  const { folder } = capture
  if (typeof folder !== 'string' || folder === '') return {}
  // Before it is made absolute: after that, the white space at its start is inside the path.
  refuseSurroundingSpace(name, { option: 'capture', part: 'capture.folder' }, folder, { mayBeShown: true })
  return { capture: { ...capture, folder: resolve(dirname(path), folder) } }
}

/**
 * What the `openTelemetry` option asks for: `true`, or the options; undefined if it is absent or false. Only then
 * `@opentelemetry/api` is loaded.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function openTelemetrySetting(
  value: unknown,
  origin: OptionOrigin,
  load: () => Promise<{ openTelemetry(options?: OpenTelemetryOptions): OpenTelemetry }> = () =>
    import('../../telemetry/opentelemetry/open-telemetry.js'),
): Promise<OpenTelemetry | undefined> {
  if (value === undefined || value === false) return undefined
  if (value !== true && (typeof value !== 'object' || value === null)) {
    const cure = 'use true, false, or an object with the options of openTelemetry'
    throw invalidOption(origin('openTelemetry'), 'openTelemetry', value, cure)
  }
  const { openTelemetry } = await optionalPackage('openTelemetry', '@opentelemetry/api', load)
  const owner = () => `${origin('openTelemetry')}: openTelemetry`
  return withOrigin(owner, () => openTelemetry(value === true ? {} : value))
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
