import type { Logger } from '../logging/logger.js'
import { startAdminServer, type AdminSettings } from '../server/admin-server.js'
import type { SmallServer } from '../server/small-server.js'
import type { ObservedProcess } from '../telemetry/observed-process.js'
import { warnOfOpenMetrics } from './config/admin-setting.js'
import { urlOf } from './run-until-signal.js'

export interface Admin {
  /** @throws CountersignError ERR_LISTEN_FAILED */
  start(owner: string): Promise<void>
  close(): void
}

/** The admin address of a receiver or a worker, which is measured only if there is one. */
export async function createAdmin(
  settings: AdminSettings | undefined,
  observed: ObservedProcess & { readonly ready: boolean },
  log: Logger,
): Promise<Admin> {
  if (!settings) return { start: async () => {}, close() {} }
  const { prometheusMetrics } = await import('../telemetry/prometheus-metrics.js')
  const metrics = prometheusMetrics()
  const unobserve = metrics.observe(observed)
  let server: SmallServer | undefined
  return {
    async start(owner) {
      server = await startAdminServer(() => observed.ready, metrics, settings, owner)
      warnOfOpenMetrics(settings, log)
      log.info({ ...server.address }, `metrics on ${urlOf(server.address)}/metrics`)
    },
    close() {
      unobserve()
      server?.close()
    },
  }
}
