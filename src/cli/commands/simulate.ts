import { InvalidArgumentError, Option } from 'commander'
import { similarName } from '../../base/similar-name.js'
import { DEFAULT_TOLERANCE } from '../../callback/authenticate.js'
import { FAULTS, type FaultKind } from '../../simulator/fault.js'
import { addEnvFileOption } from '../environment.js'
import type { DefineCommand } from '../io.js'
import {
  duration,
  durations,
  eventTypeName,
  positiveNumber,
  someText,
  upTo,
  uuid,
  wholeNumber,
} from '../option-values.js'
import { addSecretOptions, NO_SECRET_OPTION } from '../secret-option.js'
import { simulate, type FaultChoice, type SimulateFlags } from './simulate/simulate.js'
import { deliverToOrigin } from './simulate/target.js'

/** All of them are prepared before the first is sent. */
const MAX_CALLBACKS = 1_000_000

/** These need a second secret, which only a test can pass. */
const NOT_HERE: readonly FaultKind[] = ['previous-secret', 'next-secret']

const CHOICES = [
  'none',
  ...Object.keys(FAULTS).filter((kind) => !NOT_HERE.includes(kind as FaultKind)),
] as FaultChoice[]

const HELP = `
Simulates the service on 127.0.0.1: tokens, subscriptions, account updates, and
callbacks. It delivers callbacks to each subscription, and compares the answers
with those of a correct receiver. --callback-url creates a subscription at the
start; its secret is read from the environment (--secret-env NAME, by default
COUNTERSIGN_SECRET) or from a file (--secret-file).

The client secret is that of COUNTERSIGN_CLIENT_SECRET or of
--client-secret-file. If that file does not exist, it is created with a new
secret, and only you can read it.
${NO_SECRET_OPTION}

Options decide what the service does not document: whether and how it retries a
callback (--retry-delays-ms, --retry-timestamp), and whether a second
subscription replaces the first (--repeated-subscription).

Callbacks are delivered to this machine only, over http: to --deliver-to, or to
the callback URL if it is an address of this machine. SIGINT and SIGTERM end the
simulator. With --json it prints one JSON object per line.

Exit codes:
  0  ended by a signal; with --once: every answer was right
  1  the port is in use; with --once: a signal ended it too early
  2  wrong usage; the message says what to change
  3  with --once: an answer was wrong or missing

Examples:
  $ countersign simulate --port 4010 --client-secret-file client.secret \\
      --deliver-to http://127.0.0.1:3000
  $ countersign simulate --once --faults all \\
      --deliver-to http://127.0.0.1:3000 --secret-file secret.txt \\
      --callback-url https://partner.example.com/hooks/transfers
  $ countersign simulate --show-secret --faults none,twins,wrong-secret \\
      --callbacks 10 --seed 7`

export const defineSimulate: DefineCommand = (command, io, finish) => {
  command
    .option('-p, --port <number>', 'the port to listen on; 0 takes a free one', wholeNumber, 0)
    .option('--client-id <uuid>', 'the client id (default: COUNTERSIGN_CLIENT_ID, or a random one)', uuid)
    .option(
      '--client-secret-file <file>',
      'the file with the client secret, created if it does not exist',
      someText,
    )
    .option('--show-secret', 'print the client secret; without any other, a random one is used')
    .option(
      '--deliver-to <origin>',
      'where the receiver listens, such as http://127.0.0.1:3000',
      deliverToOrigin,
    )
    .option('--callback-url <url>', 'create a subscription of this URL at the start')
    .option('--event-type <type>', 'its event type', eventTypeName, 'transfers.book-completed')
  addEnvFileOption(addSecretOptions(command))
    .option('--callbacks <number>', 'how many callbacks, of each fault', upTo(MAX_CALLBACKS), 1)
    .option('--faults <list>', 'faults separated by commas, none for none, or all', faultNames, ['none'])
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
    .option('--concurrency <number>', 'how many callbacks at a time', positiveNumber, 1)
    .option('--seed <number>', 'repeat the ids of an earlier run', wholeNumber)
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
    .option('--wait-ms <number>', 'the longest time to wait until the receiver listens', duration, 30_000)
    .option('--once', 'end after the callbacks of the first subscription')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: SimulateFlags) => finish(await simulate(flags, io)))
}

/** The parser of --faults. */
function faultNames(text: string): FaultChoice[] {
  if (text === 'all') return CHOICES
  return text.split(',').map((name) => {
    const choice = CHOICES.find((each) => each === name.trim())
    if (choice) return choice
    const meant = similarName(name.trim(), CHOICES)
    const guess = meant === undefined ? '' : ` Did you mean ${meant}?`
    throw new InvalidArgumentError(`Use all, or some of ${CHOICES.join(', ')}.${guess}`)
  })
}
