import { Option } from 'commander'
import { CountersignError } from '../../base/errors.js'
import { silentLogger } from '../../logging/logger.js'
import { startServiceSimulator, type ServiceSimulator } from '../../simulator/service-simulator.js'
import type { RetryPolicy } from '../../simulator/delivery.js'
import type { Fault, FaultName } from '../../simulator/fault.js'
import type { ServiceSubscription } from '../../simulator/subscription-book.js'
import { DEFAULT_TOLERANCE } from '../../callback/authenticate.js'
import { withoutQuery } from '../../callback/subscriptions.js'
import { addEnvFileOption, loadEnvFile, variable } from '../environment.js'
import { EXIT, UsageError, type DefineCommand, type ExitCode, type Io } from '../io.js'
import {
  duration,
  durations,
  eventTypeName,
  finalStatus,
  positiveNumber,
  uuid,
  wholeNumber,
} from '../option-values.js'
import { addSecretOptions, NO_SECRET_OPTION, readSecret, type SecretFlags } from '../secret-option.js'
import { announce, requestLogger } from './simulate/announce.js'
import { clientSecret, type ClientSecretFlags } from './simulate/client-secret.js'
import { faultNames, type FaultChoice } from './simulate/faults.js'
import { printDeliveries, type ReceiverKind } from './simulate/print.js'
import { deliverToOrigin, untilListening } from './simulate/target.js'

interface SimulateFlags extends SecretFlags, ClientSecretFlags {
  readonly port: number
  readonly clientId?: string
  readonly deliverTo?: string
  readonly callbackUrl?: string
  readonly eventType: string
  readonly callbacks: number
  readonly faults: readonly FaultChoice[]
  readonly slowMs: number
  readonly toleranceMs: number
  readonly futureToleranceMs: number
  readonly bodyTimeoutMs: number
  readonly concurrency: number
  readonly shuffle?: true
  readonly seed?: number
  readonly retryDelaysMs?: readonly number[]
  readonly retryTimestamp: RetryPolicy['timestamp']
  readonly subscriptionStatus?: number
  readonly accountStatus?: number
  readonly repeatedSubscription: 'beside' | 'replace'
  readonly receiver: ReceiverKind
  readonly waitMs: number
  readonly once?: true
  readonly envFile?: string
  readonly json?: true
}

const HELP = `
Simulates the service on 127.0.0.1: tokens, subscriptions, account updates, and callbacks. It delivers callbacks to
each subscription, and compares the answers with those of a correct receiver. --callback-url creates a subscription at
the start; its secret is read from the environment (--secret-env NAME, by default COUNTERSIGN_SECRET) or from a file
(--secret-file).

The client secret is that of COUNTERSIGN_CLIENT_SECRET or of --client-secret-file. If that file does not exist, it is
created with a new secret, and only you can read it.
${NO_SECRET_OPTION}

Options decide what the service does not document: whether and how it retries a callback (--retry-delays-ms,
--retry-timestamp), its answers (--subscription-status, --account-status), and whether a second subscription replaces
the first (--repeated-subscription).

Callbacks are delivered to this machine only, over http: to --deliver-to, or to the callback URL if it is an address
of this machine. SIGINT and SIGTERM end the simulator. With --json it prints one JSON object per line.

Exit codes:
  0  ended by a signal; with --once: every answer was right
  1  the port is in use; with --once: a signal ended it too early
  2  wrong usage; the message says what to change
  3  with --once: an answer was wrong or missing

Examples:
  $ countersign simulate --port 4010 --client-secret-file client.secret --deliver-to http://127.0.0.1:3000
  $ countersign simulate --once --faults all --deliver-to http://127.0.0.1:3000 --secret-file secret.txt \\
      --callback-url https://partner.example.com/hooks/transfers
  $ countersign simulate --show-secret --faults none,twins,wrong-secret --callbacks 10 --seed 7`

export const defineSimulate: DefineCommand = (command, io, finish) => {
  command
    .option('-p, --port <number>', 'the port to listen on; 0 takes a free one', wholeNumber, 0)
    .option('--client-id <uuid>', 'the client id (default: COUNTERSIGN_CLIENT_ID, or a random one)', uuid)
    .option('--client-secret-file <file>', 'the file with the client secret, created if it does not exist')
    .option('--show-secret', 'print the client secret; without any other, a random one is used')
    .option(
      '--deliver-to <origin>',
      'where the receiver listens, such as http://127.0.0.1:3000',
      deliverToOrigin,
    )
    .option('--callback-url <url>', 'create a subscription of this URL at the start')
    .option('--event-type <type>', 'its event type', eventTypeName, 'transfers.book-completed')
  addEnvFileOption(addSecretOptions(command))
    .option('--callbacks <number>', 'how many callbacks, of each fault', positiveNumber, 1)
    .option('--faults <list>', 'faults separated by commas, none for none, or all', faultNames, ['none'])
    .option('--slow-ms <number>', 'how long the body of the fault slow takes', duration, 1_000)
    .option(
      '--tolerance-ms <number>',
      "the receiver's toleranceMs, by which late is judged",
      wholeNumber,
      DEFAULT_TOLERANCE.toleranceMs,
    )
    .option(
      '--future-tolerance-ms <number>',
      "the receiver's futureToleranceMs, for early",
      wholeNumber,
      DEFAULT_TOLERANCE.futureToleranceMs,
    )
    .option('--body-timeout-ms <number>', "the receiver's bodyTimeoutMs, for slow", duration, 10_000)
    .option('--concurrency <number>', 'how many callbacks at a time', positiveNumber, 1)
    .option('--shuffle', 'deliver them out of order')
    .option('--seed <number>', 'repeat the ids and the order of an earlier run', wholeNumber)
    .addOption(
      new Option(
        '--receiver <kind>',
        'the answers to expect: those of a receiver with an inbox, without (inline), or either',
      )
        .choices(['inbox', 'inline', 'either'])
        .default('either'),
    )
    .option(
      '--retry-delays-ms <list>',
      'retry a callback that is not answered 2xx, after these delays',
      durations,
    )
    .addOption(
      new Option('--retry-timestamp <kind>', 'whether a retry keeps its timestamp or is signed again')
        .choices(['first', 'fresh'])
        .default('first'),
    )
    .addOption(
      new Option(
        '--repeated-subscription <kind>',
        'whether a second one of a URL and type replaces the first',
      )
        .choices(['beside', 'replace'])
        .default('beside'),
    )
    .option('--subscription-status <number>', 'the answer to a subscription (default: 201)', finalStatus)
    .option('--account-status <number>', 'the answer to an account update (default: 200)', finalStatus)
    .option('--wait-ms <number>', 'the longest time to wait until the receiver listens', duration, 30_000)
    .option('--once', 'end after the callbacks of the first subscription')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: SimulateFlags) => finish(await simulate(flags, io)))
}

async function simulate(flags: SimulateFlags, io: Io): Promise<ExitCode> {
  if (flags.envFile !== undefined) await loadEnvFile(flags.envFile, io)
  // Read before the server listens, so that missing input is reported first.
  const secret = flags.callbackUrl === undefined ? undefined : await readSecret(flags, io)
  const { clientSecret: ours, place } = await clientSecret(flags, io)
  const simulator = await startServiceSimulator({
    port: flags.port,
    clientId: flags.clientId ?? variable(io, 'COUNTERSIGN_CLIENT_ID'),
    clientSecret: ours,
    deliverTo: flags.deliverTo,
    seed: flags.seed,
    toleranceMs: flags.toleranceMs,
    futureToleranceMs: flags.futureToleranceMs,
    retry: flags.retryDelaysMs && { delaysMs: flags.retryDelaysMs, timestamp: flags.retryTimestamp },
    subscriptionResponse: answered(flags.subscriptionStatus),
    accountResponse: answered(flags.accountStatus),
    repeatedSubscription: flags.repeatedSubscription,
    logger: flags.json ? silentLogger : requestLogger(io),
  })
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  // Once: a second signal has its default effect and ends the process.
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    if (flags.callbackUrl !== undefined) {
      const { callbackUrl, eventType: eventTypeName } = flags
      simulator.subscribe({ callbackUrl, eventTypeName, secret })
    }
    announce(simulator, place, flags, io)
    return await deliverAll(simulator, flags, io, stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
    return flags.once ? EXIT.failed : EXIT.done
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    await simulator.close()
  }
}

const answered = (status: number | undefined) => (status === undefined ? undefined : { status })

/** Runs until the signal, with which it rejects, or with --once until the first subscription has its callbacks. */
async function deliverAll(
  simulator: ServiceSimulator,
  flags: SimulateFlags,
  io: Io,
  signal: AbortSignal,
): Promise<ExitCode> {
  const served = new Set<string>()
  for (let count = 1; ; count++) {
    await simulator.subscribed({ count, signal })
    for (const subscription of simulator.subscriptions.filter(({ id }) => !served.has(id))) {
      served.add(subscription.id)
      try {
        const areRight = await deliver(simulator, subscription, flags, io, signal)
        if (flags.once) return areRight ? EXIT.done : EXIT.unexpected
      } catch (error) {
        if (!(error instanceof CountersignError)) throw error
        const message = `cannot deliver to ${JSON.stringify(withoutQuery(subscription.callbackUrl))}: use --deliver-to`
        if (flags.once) throw new UsageError(message)
        io.stderr.write(`countersign: ${message}\n`)
      }
    }
  }
}

async function deliver(
  simulator: ServiceSimulator,
  subscription: ServiceSubscription,
  flags: SimulateFlags,
  io: Io,
  signal: AbortSignal,
): Promise<boolean> {
  const { faults, callbacks, concurrency, shuffle } = flags
  await untilListening(flags.deliverTo ?? subscription.callbackUrl, flags.waitMs, signal)
  const list = faults.flatMap((fault) =>
    Array.from({ length: callbacks }, () => ({
      subscription,
      ...(fault !== 'none' && { fault: withSettings(fault, flags) }),
      signal,
    })),
  )
  const deliveries = await simulator.deliverMany(list, { concurrency, shuffle })
  return printDeliveries(subscription, deliveries, flags, io)
}

function withSettings(fault: FaultName, { slowMs }: SimulateFlags): Fault | FaultName {
  return fault === 'slow' ? { kind: fault, overMs: slowMs } : fault
}
