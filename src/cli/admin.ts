import type { ConsoleProcess } from '../console/console-options.js'
import type { createStandaloneConsole, StandaloneConsole } from '../console/sign-in/standalone-console.js'
import type { Logger } from '../logging/logger.js'
import { startAdminServer, type AdminSettings } from '../server/admin-server.js'
import type { SmallServer } from '../server/small-server.js'
import type { ObservedProcess } from '../telemetry/observed-process.js'
import { warnOfOpenMetrics } from './config/admin-setting.js'
import { urlOf } from './run-until-signal.js'

export interface Admin {
  /** @throws CountersignError ERR_LISTEN_FAILED */
  start(): Promise<void>
  close(): void
}

/**
 * The admin address of a receiver or a worker, which is measured only if there is one.
 * @throws CountersignError ERR_OPTION_INVALID if the console has no inbox
 */
export async function createAdmin(
  owner: string,
  settings: AdminSettings | undefined,
  observed: ObservedProcess & ConsoleProcess & { readonly ready: boolean },
  log: Logger,
  isReady = () => observed.ready,
): Promise<Admin> {
  if (!settings) return { start: async () => {}, close() {} }
  const { prometheusMetrics } = await import('../telemetry/prometheus-metrics.js')
  const console = settings.console && (await loadConsole(owner, observed, settings.console, log))
  const metrics = prometheusMetrics()
  const unobserve = metrics.observe(observed)
  let server: SmallServer | undefined
  return {
    async start() {
      server = await startAdminServer({ isReady, metrics, console }, settings, owner)
      warnOfOpenMetrics(settings, log)
      log.info({ ...server.address }, `metrics on ${urlOf(server.address)}/metrics`)
      if (console) log.info({ ...server.address }, `console on ${urlOf(server.address)}/console/`)
    },
    close() {
      console?.close()
      unobserve()
      server?.close()
    },
  }
}

/** The console is a third of what `serve` would load, so it is loaded only if it is configured. */
async function loadConsole(...given: Parameters<typeof createStandaloneConsole>): Promise<StandaloneConsole> {
  const { createStandaloneConsole } = await import('../console/sign-in/standalone-console.js')
  return createStandaloneConsole(...given)
}
