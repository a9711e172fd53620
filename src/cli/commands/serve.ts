import closeWithGrace from 'close-with-grace'
import { Option } from 'commander'
import type { AddressInfo } from 'node:net'
import { isErrorLike } from '../../base/foreign-value.js'
import { parseServerOptions, startReceiverServer, type ReceiverServer } from '../../server/server.js'
import { KnownSecrets } from '../../logging/known-secrets.js'
import { loggedError } from '../../logging/logged-error.js'
import { checkConfig } from '../config/check-config.js'
import { loadSettings, type ServeFlags } from '../config/config.js'
import { addEnvFileOption } from '../environment.js'
import { UsageError, type DefineCommand, type Io } from '../io.js'
import { createLog, LOG_FORMATS, LOG_LEVELS } from '../log.js'
import { positiveNumber, wholeNumber } from '../option-values.js'
import { blaming, standaloneReceiver } from '../config/standalone-receiver.js'

const HELP = `
Every POST is taken for a callback, whatever its path. GET /healthz says whether the process lives, GET /readyz whether
it takes callbacks in.

Configuration: a flag wins over the environment, the environment over the file.
  COUNTERSIGN_CONFIG      COUNTERSIGN_HOST          COUNTERSIGN_PORT        COUNTERSIGN_TOLERANCE_MS
  COUNTERSIGN_LOG_LEVEL   COUNTERSIGN_LOG_FORMAT    COUNTERSIGN_MAX_BODY_BYTES
  COUNTERSIGN_INBOX       COUNTERSIGN_SHUTDOWN_DELAY_MS

countersign.config.mjs:
  export default {
    host: '127.0.0.1',
    port: 3000,
    subscriptions: [
      {
        eventTypeName: 'transfers.book-completed',
        callbackUrl: 'https://partner.example.com/hooks/transfers',
        secret: { env: 'CALLBACK_SECRET' },      // or { file: 'secret.txt' }, the text itself, or a list of these
      },
    ],
    handlers: './handlers.mjs',
  }

handlers.mjs:
  export default {
    'transfers.book-completed': async (event, { signal, logger }) => { /* ... */ },
  }

"handlers" may be such an object, the path of a module that exports one (as default or as "handlers"), or a function
that is given { on, onAny, onUnhandled, onError, onOutcome }. countersign.config.json may hold everything but functions.
"inbox" is { file: 'callbacks.db' } unless you say otherwise, beside the configuration: callbacks are answered once they
are on the disk. With false, handlers run before the answer, and what was handled is remembered in memory. It may also
be an inbox of your own. The other options of the file are those of createReceiver and: headersTimeoutMs,
keepAliveTimeoutMs, maxConnections, shutdownDelayMs, logLevel, logFormat.

SIGTERM and SIGINT: GET /readyz answers 503, callbacks are taken in for another shutdownDelayMs, what has arrived is
answered, what runs is finished, then the process exits with 0. A second signal ends it at once, with 1.

Exit codes:
  0  stopped by a signal; with --check: the configuration is valid
  1  the address is taken, or an error that nobody caught
  2  wrong usage or configuration; the message says what to change

Examples:
  $ countersign serve --check
  $ countersign serve --config /etc/countersign.config.mjs --port 8080
  $ countersign serve --env .env --log-format readable`

/** Beyond the handlers' own time: to close connections, and to write the last lines. */
const STOP_SLACK_MS = 5_000

export const defineServe: DefineCommand = (program, io, finish) => {
  const command = program
    .command('serve')
    .description('Receive callbacks and hand them to your handlers.')
    .option('-c, --config <file>', 'the configuration (default: countersign.config.mjs, .ts or .json)')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('-p, --port <number>', 'the port to listen on; 0 takes a free one (default: 3000)', wholeNumber)
    .option('--tolerance-ms <number>', 'how old a callback may be (default: 24 hours)', wholeNumber)
    .option('--max-body-bytes <number>', 'the largest body (default: 1 MiB)', positiveNumber)
    .option(
      '--shutdown-delay-ms <number>',
      'how long a stop goes on taking callbacks in after /readyz fails (default: 0)',
      wholeNumber,
    )
    .option(
      '--inbox <file>',
      'the file of the inbox, or none (default: callbacks.db beside the configuration)',
    )
    .addOption(new Option('--log-level <level>', 'how much is logged (default: info)').choices(LOG_LEVELS))
    .addOption(
      new Option('--log-format <format>', '(default: readable on a terminal, else json)').choices(
        LOG_FORMATS,
      ),
    )
  addEnvFileOption(command)
    .option('--check', 'try what serve needs, say what the configuration amounts to, and do not listen')
    .option('--strict', 'with --check: warnings are failures')
    .option('--json', 'with --check: say it in JSON')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags & { check?: true; strict?: true; json?: true }) => {
      if (flags.json && !flags.check)
        throw new UsageError('--json goes with --check; for the log it is --log-format json')
      if (flags.strict && !flags.check) throw new UsageError('--strict goes with --check')
      finish(flags.check ? await checkConfig(flags, io) : await serve(flags, io))
    })
}

/** Listens until the process ends; rejects when it cannot begin to. */
async function serve(flags: ServeFlags, io: Io): Promise<never> {
  const settings = await loadSettings(flags, io)
  const log = await createLog(settings.log)
  const { shutdownDelayMs } = blaming(settings, () => parseServerOptions(settings.server))
  const { receiver, parsed } = await standaloneReceiver(settings, log)

  // From here on a signal is heard, also one that comes before the server listens.
  let starting: Promise<ReceiverServer> | undefined
  const grace = closeWithGrace(
    {
      delay: Math.min(
        shutdownDelayMs + parsed.stopTimeoutMs + STOP_SLACK_MS,
        // Node fires a longer timer at once.
        2 ** 31 - 1,
      ),
      logger: false,
      // An event loop that runs dry before the server listens is a failure, and has its exit code already.
      skip: ['beforeExit'],
      onSecondSignal: (signal) => log.warn({ signal }, 'a second signal: leaving at once'),
      onSecondError: (error) => log.fatal({ err: asError(error) }, 'a second error: leaving at once'),
      onTimeout: (delay) => log.error({ delay }, 'stopping takes too long: leaving'),
    },
    async ({ signal, ...error }) => {
      const failed = 'err' in error
      if (failed) log.fatal({ err: asError(error.err) }, 'an error that nobody caught: stopping')
      else log.info({ signal, shutdownDelayMs }, 'stopping: no longer ready, what has arrived is finished')
      // After an error that nobody caught, the process may be in any state: it takes in nothing that it need not.
      await (await starting)?.close(failed ? { shutdownDelayMs: 0 } : undefined)
      log.info('stopped')
      // Also where what was thrown is undefined, which closeWithGrace would not take for an error.
      if (failed) process.exit(1)
    },
  )
  try {
    starting = startReceiverServer(receiver, parsed.limits.bodyTimeoutMs, settings.server)
    const { address } = await starting
    log.info({ host: address.address, port: address.port }, `listening on ${url(address)}`)
  } catch (error) {
    grace.uninstall()
    throw error
  }
  return new Promise(() => {}) // closeWithGrace ends the process
}

/** Anything may be thrown; pino's serializer is for errors. */
function asError(thrown: unknown): unknown {
  return isErrorLike(thrown) ? thrown : loggedError(thrown, new KnownSecrets())
}

function url({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
