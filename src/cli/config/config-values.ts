import { checkKnownOptions, invalidOption, isRecord } from '../../base/option-checks.js'
import type { HasAll } from '../../base/has-all.js'
import type { Config } from '../../server/define-config.js'
import { RECEIVER_OPTIONS } from '../../receiver/settings.js'
import { SERVER_OPTIONS } from '../../server/server.js'
import { variable } from '../environment.js'
import type { Io } from '../io.js'
import { hasDefaultConfig, loadConfigFile, type ConfigFile } from './config-file.js'
import type { OptionOrigin } from './option-origin.js'

/** The command line of `serve` and `work`. */
export interface ServeFlags {
  readonly config?: string | undefined
  readonly env?: string
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
  readonly verbose?: boolean
}

/** The options of the receiver that a configuration may have: its inbox and its logger are created from other options. */
export const PASSED_TO_RECEIVER = RECEIVER_OPTIONS.filter((name) => name !== 'inbox' && name !== 'logger')

const KNOWN = [
  ...SERVER_OPTIONS,
  ...PASSED_TO_RECEIVER,
  'handlers',
  'inbox',
  'worker',
  'healthPort',
  'admin',
  'openTelemetry',
  'logLevel',
  'logFormat',
] as const satisfies readonly (keyof Config)[]
void (true satisfies HasAll<keyof Config, typeof KNOWN>)

export type Option = (typeof KNOWN)[number]

/** The values that are set, unchecked. */
export interface ConfigValues {
  readonly file: ConfigFile
  readonly values: Readonly<Partial<Record<Option, unknown>>>
  readonly origin: OptionOrigin
}

const ADMIN_PORT = 'COUNTERSIGN_ADMIN_PORT'

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
 * The values from flag, environment and file, in this order of precedence. The secrets that the file refers to are
 * not read.
 * @throws CountersignError ERR_CONFIG_NOT_FOUND, ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function loadValues(flags: Omit<ServeFlags, 'env'>, io: Io): Promise<ConfigValues> {
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
  // A value of another kind is left as it is, so that the message about it names the file.
  if (adminPort !== undefined && (content.admin === undefined || isRecord(content.admin))) {
    // The port differs between processes that share a file; the host does not.
    values.admin = { ...content.admin, port: numberIn(adminPort, ADMIN_PORT, 'admin') }
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

function numberIn(text: string | number, name: string, option: Option): number {
  if (/^\d{1,15}$/.test(String(text))) return Number(text)
  // Kubernetes sets COUNTERSIGN_PORT=tcp://10.96.0.9:80 in the pods of a namespace with a Service named countersign.
  const isServiceLink = /^(?:tcp|udp|sctp):\/\//.test(String(text))
  const cure = 'use a whole number'
  const cureOfLink = `${cure}. Kubernetes sets ${name} for a Service: set enableServiceLinks: false in the pod`
  throw invalidOption(name, option, text, isServiceLink ? cureOfLink : cure)
}
