import { withinOpenFiles } from '../../server/open-files.js'
import { startReceiverServer } from '../../server/server.js'
import type { ServeFlags } from '../config/config-values.js'
import { loadSettings } from '../config/settings.js'
import { createAdmin } from '../admin.js'
import { addEnvFileOption, CONFIG_OPTION } from '../environment.js'
import { UsageError, type DefineCommand, type Io } from '../io.js'
import { addLogOptions, createLog } from '../log.js'
import { positiveNumber, someText, wholeNumber } from '../option-values.js'
import { withOrigin } from '../config/option-origin.js'
import { standaloneReceiver } from '../config/standalone-receiver.js'
import { runUntilSignal, urlOf, type Prepared } from '../run-until-signal.js'

const HELP = `
Every POST is treated as a callback, whatever its path. GET /healthz says
whether the process is alive, GET /readyz whether it accepts callbacks.

The configuration is countersign.config.mjs, .ts or .json. It has the
subscriptions and the handlers; all other options have defaults.
docs/standalone.md in the package has an example, and describes them. Callbacks
are stored in callbacks.db beside the configuration, and answered once they are
on the disk.

A flag has precedence over the environment, and the environment over the
configuration:
  COUNTERSIGN_CONFIG           COUNTERSIGN_HOST          COUNTERSIGN_PORT
  COUNTERSIGN_INBOX            COUNTERSIGN_LOG_LEVEL     COUNTERSIGN_LOG_FORMAT
  COUNTERSIGN_ADMIN_PORT       COUNTERSIGN_TOLERANCE_MS
  COUNTERSIGN_MAX_BODY_BYTES   COUNTERSIGN_SHUTDOWN_DELAY_MS

On SIGTERM and SIGINT, GET /readyz answers 503, and callbacks are accepted for
another shutdownDelayMs. Then the process answers the requests that have
arrived, waits for running handlers, and exits with 0. A second signal ends it
immediately, with 1.

Exit codes:
  0  stopped by a signal; with --check: the configuration is valid
  1  the address is in use, the inbox cannot be reached or is busy or full,
     the Redis server cannot be used, or an uncaught error
  2  wrong usage or configuration; the message says what to change

Examples:
  $ countersign serve --check
  $ countersign serve --config /etc/countersign.config.mjs --port 8080
  $ countersign serve --env .env --log-format readable`

export const defineServe: DefineCommand = (command, io, finish) => {
  command
    .option(...CONFIG_OPTION)
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('-p, --port <number>', 'the port to listen on; 0 takes a free one (default: 3000)', wholeNumber)
    .option('--tolerance-ms <number>', 'the greatest age of a callback (default: 24 hours)', wholeNumber)
    .option('--max-body-bytes <number>', 'the largest body (default: 1 MiB)', positiveNumber)
    .option(
      '--shutdown-delay-ms <number>',
      'how long a stop still accepts callbacks after /readyz fails (default: 0)',
      wholeNumber,
    )
    .option(
      '--admin-port <number>',
      'the port of /metrics, on the loopback address (default: none)',
      wholeNumber,
    )
    .option(
      '--inbox <file>',
      'the file of the inbox, a postgres:// URL without a password, or none (default: callbacks.db beside the configuration)',
      someText,
    )
    .option(
      '--no-worker',
      'only store callbacks in the inbox: another process handles them (countersign work)',
    )
  addEnvFileOption(addLogOptions(command))
    .option('--check', 'check all that serve needs, print the resulting configuration, and do not listen')
    .option('--strict', 'with --check: fail on warnings')
    .option('--json', 'with --check: print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags & { check?: true; strict?: true; json?: true }) => {
      if (flags.json && !flags.check)
        throw new UsageError('--json needs --check; for a JSON log use --log-format json')
      if (flags.strict && !flags.check) throw new UsageError('--strict needs --check')
      if (!flags.check) return runUntilSignal(() => prepare(flags, io))
      const { checkConfig } = await import('../config/check-config.js')
      finish(await checkConfig(flags, io))
    })
}

async function prepare(flags: ServeFlags, io: Io): Promise<Prepared> {
  const settings = await loadSettings(flags, io)
  const log = await createLog(settings.log)
  const server = withinOpenFiles(settings.server, log)
  const { shutdownDelayMs } = server
  const { receiver, parsed, store } = await standaloneReceiver(settings, log)
  const isReady = () => receiver.ready && (store?.isReady ?? true)
  const admin = await withOrigin(settings.origin, () =>
    createAdmin('serve', settings.admin, receiver, log, isReady),
  )
  settings.openTelemetry?.observe(receiver)

  return {
    log,
    stopLimitMs: shutdownDelayMs + parsed.stopTimeoutMs,
    stopping: { fields: { shutdownDelayMs }, message: 'finishing the callbacks that have arrived' },
    async start() {
      const listen = async () => {
        await admin.start()
        const served = {
          get ready() {
            return isReady()
          },
          requestListener: receiver.requestListener.bind(receiver),
          start: () => receiver.start(),
          stop: () => receiver.stop(),
        }
        return startReceiverServer(served, parsed.limits.bodyTimeoutMs, server, log)
      }
      const started = await listen().catch(async (error: unknown) => {
        admin.close()
        await store?.close().catch(() => {})
        throw error
      })
      const { address, port } = started.address
      log.info({ host: address, port }, `listening on ${urlOf(started.address)}`)
      // After an uncaught error the process may be in any state, so it accepts no new callbacks.
      return async ({ failed }) => {
        await started.close(failed ? { shutdownDelayMs: 0 } : undefined)
        admin.close()
        await store?.close()
      }
    },
  }
}
