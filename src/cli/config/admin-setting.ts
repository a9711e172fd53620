import { isIPv6 } from 'node:net'
import { isLoopback } from '../../base/loopback.js'
import type { Logger } from '../../logging/logger.js'
import { parseAdminOptions, type AdminServerOptions, type AdminSettings } from '../../server/admin-server.js'
import type { ConfigFile } from './config-file.js'
import { resolveOption } from './config-secrets.js'
import type { OptionOrigin } from './option-origin.js'

/**
 * The `admin` option, with the text of its token; undefined where there is none.
 * @throws CountersignError ERR_CONFIG_INVALID, ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export async function adminSetting(
  admin: unknown,
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
  origin: OptionOrigin,
): Promise<AdminSettings | undefined> {
  if (admin === undefined) return undefined
  const { metricsToken } = (admin ?? {}) as { metricsToken?: unknown }
  const isReference = typeof metricsToken === 'object' && metricsToken !== null
  const resolved = isReference
    ? {
        ...(admin as object),
        metricsToken: await resolveOption(metricsToken, TOKEN, file, env),
      }
    : admin
  return parseAdminOptions(origin('admin'), resolved as AdminServerOptions)
}

/** Other machines may reach any address but the loopback addresses. */
export function warnOfOpenMetrics({ host, metricsToken }: AdminSettings, log: Logger): void {
  if (metricsToken !== undefined || isLoopback(isIPv6(host) ? `[${host}]` : host)) return
  const message =
    `everybody who can connect to ${host} can read /metrics: set admin.metricsToken, ` +
    `or set admin.host to 127.0.0.1 and run the monitoring on this machine`
  log.warn({ code: 'WARN_METRICS_OPEN', host }, message)
}

const TOKEN = { option: 'admin.metricsToken', meaning: 'the token' }
