import { parseHealthServerOptions, startHealthServer } from '../../server/health-server.js'
import type { ServeFlags } from '../config/config-values.js'
import { refuseAddressOfAdmin } from '../config/admin-setting.js'
import { loadWorkSettings } from '../config/settings.js'
import { withOrigin } from '../config/option-origin.js'
import { standaloneWorker } from '../config/standalone-worker.js'
import { createAdmin } from '../admin.js'
import { addEnvFileOption, CONFIG_OPTION } from '../environment.js'
import type { DefineCommand, Io } from '../io.js'
import { addLogOptions, createLog } from '../log.js'
import { someText, wholeNumber } from '../option-values.js'
import { runUntilSignal, urlOf, type Prepared } from '../run-until-signal.js'

const HELP = `
Handles the callbacks that receivers have stored in the inbox, and accepts none
itself. Receivers and workers may read the same configuration: start the
receivers with serve --no-worker, and the workers with work. A worker needs
"inbox" and "handlers". It does not look up the secrets of the subscriptions. Of
the file it takes the options of createWorker, and host, healthPort, admin,
openTelemetry, logLevel and logFormat. Any number of workers may share an inbox.

With --health-port, GET /healthz says whether the process is alive, GET /readyz
whether it handles callbacks. With --admin-port or admin: { host, port,
metricsToken }, GET /metrics on that address answers the metrics for Prometheus.

A flag has precedence over the environment, and the environment over the
configuration file:
  COUNTERSIGN_CONFIG      COUNTERSIGN_HOST          COUNTERSIGN_HEALTH_PORT
  COUNTERSIGN_INBOX       COUNTERSIGN_LOG_LEVEL     COUNTERSIGN_LOG_FORMAT
  COUNTERSIGN_ADMIN_PORT

On SIGTERM and SIGINT the process claims nothing more, waits for running
handlers, at most for stopTimeoutMs, and exits with 0. A second signal ends it
immediately, with 1.

Exit codes:
  0  stopped by a signal
  1  the address is in use, the inbox cannot be reached or is busy or full, or
     an uncaught error
  2  wrong usage or configuration; the message says what to change

Examples:
  $ countersign work
  $ countersign work --config /etc/countersign.config.mjs --env .env \\
      --health-port 9000`

export const defineWork: DefineCommand = (command, io) => {
  command
    .option(...CONFIG_OPTION)
    .option(
      '--inbox <file>',
      'the file of the inbox, or a postgres:// URL without a password (default: callbacks.db beside the configuration)',
      someText,
    )
    .option('--host <address>', 'the address of the health checks (default: 127.0.0.1)')
    .option('--health-port <number>', 'the port of the health checks (default: none)', wholeNumber)
    .option(
      '--admin-port <number>',
      'the port of /metrics, on the loopback address (default: none)',
      wholeNumber,
    )
  addEnvFileOption(addLogOptions(command))
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags) => {
      await runUntilSignal(() => prepare(flags, io))
    })
}

async function prepare(flags: ServeFlags, io: Io): Promise<Prepared> {
  const settings = await loadWorkSettings(flags, io)
  const log = await createLog(settings.log)
  const { host, port } = await withOrigin(settings.origin, () => parseHealthServerOptions(settings.health))
  refuseAddressOfAdmin(settings.admin, 'healthPort', { host, port }, settings.origin)
  const { worker, parsed } = await standaloneWorker(settings, log)
  const admin = await withOrigin(settings.origin, () => createAdmin('work', settings.admin, worker, log))
  settings.openTelemetry?.observe(worker)
  return {
    log,
    stopLimitMs: parsed.stopTimeoutMs,
    stopping: { message: 'waiting for running handlers' },
    async start() {
      // First, so that a probe finds the process alive while the inbox is being opened.
      const health = port === undefined ? undefined : await startHealthServer(() => worker.ready, host, port)
      if (health) log.info({ ...health.address }, `health checks on ${urlOf(health.address)}`)
      try {
        await admin.start()
        await worker.start()
      } catch (error) {
        admin.close()
        health?.close()
        throw error
      }
      log.info('working')
      return async () => {
        await worker.stop()
        admin.close()
        health?.close()
      }
    },
  }
}
