import { isLoopbackAddress } from '../../base/loopback.js'
import { invalidOption, isRecord } from '../../base/option-checks.js'
import type { Logger } from '../../logging/logger.js'
import { parseAdminOptions, type AdminServerOptions, type AdminSettings } from '../../server/admin-server.js'
import type { ConfigFile } from './config-file.js'
import { resolveOption, type ReferringOption } from './config-secrets.js'
import type { OptionOrigin } from './option-origin.js'

interface ReadyAdminSetting {
  readonly settings: AdminSettings
  /** What must be in no log line: the token, and the passwords of the console. */
  readonly secrets: readonly string[]
}

/**
 * The `admin` option, with the texts of its token and passwords; undefined if there is none.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function adminSetting(
  admin: unknown,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
  origin: OptionOrigin,
): Promise<ReadyAdminSetting | undefined> {
  if (admin === undefined) return undefined
  const resolve = async (value: unknown, place: ReferringOption): Promise<unknown> =>
    resolveOption(value, place, file, env)
  const options = isRecord(admin)
    ? {
        ...admin,
        ...('metricsToken' in admin && { metricsToken: await resolve(admin['metricsToken'], TOKEN) }),
        ...('console' in admin && { console: await withPasswords(admin['console'], resolve) }),
      }
    : admin
  const settings = parseAdminOptions(origin('admin'), options as AdminServerOptions)
  const { metricsToken, console } = options as AdminServerOptions
  const secrets = [metricsToken, ...(console?.users ?? []).map(({ password }) => password)]
  return { settings, secrets: secrets.filter((secret) => secret !== undefined) }
}

async function withPasswords(
  console: unknown,
  resolve: (value: unknown, place: ReferringOption) => Promise<unknown>,
): Promise<unknown> {
  if (!isRecord(console) || !Array.isArray(console['users'])) return console
  const users = console['users'].map(async (user: unknown, index) => {
    if (!isRecord(user)) return user
    const place = { option: `admin.console.users[${index}].password`, meaning: 'the password' }
    return { ...user, password: await resolve(user['password'], place) }
  })
  return { ...console, users: await Promise.all(users) }
}

/**
 * Two servers of one process cannot listen on one address. The system's own error says that another program has it.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function refuseAddressOfAdmin(
  admin: AdminSettings | undefined,
  option: 'port' | 'healthPort',
  { host, port }: { readonly host: string; readonly port: number | undefined },
  origin: OptionOrigin,
): void {
  if (!admin || admin.port === 0 || admin.port !== port) return
  if (host !== admin.host && !isEveryAddress(host) && !isEveryAddress(admin.host)) return
  const cure = `use another port, because ${option} is ${port} as well`
  throw invalidOption(origin('admin'), { option: 'admin', part: 'admin: port' }, admin.port, cure)
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** Other machines may reach any address that is not a loopback address. */
export function warnOfOpenMetrics({ host, metricsToken }: AdminSettings, log: Logger): void {
  if (metricsToken !== undefined || isLoopbackAddress(host)) return
  const message =
    `everybody who can connect to ${host} can read /metrics: set admin.metricsToken, ` +
    `or set admin.host to 127.0.0.1 and run the monitoring on this machine`
  log.warn({ code: 'WARN_METRICS_OPEN', host }, message)
}

const TOKEN = { option: 'admin.metricsToken', meaning: 'the token' }
