import { Option } from 'commander'
import { examine, type Examination } from '../../diagnosis/doctor/examine.js'
import { addEnvFileOption, CONFIG_OPTION, loadEnvFile } from '../environment.js'
import { EXIT, printJson, UsageError, type DefineCommand } from '../io.js'
import { duration, eventTypeName, httpUrl } from '../option-values.js'
import { addSecretOptions, NO_SECRET_OPTION } from '../secret-option.js'
import { fields, table, widthOf } from '../table.js'
import { probedSubscription, type ProbedFlags } from './doctor/probed-subscription.js'

interface DoctorFlags extends ProbedFlags {
  readonly env?: string
  readonly timeoutMs: number
  readonly pauseMs?: number
  readonly json?: true
}

/** Less than the 10 seconds of `bodyTimeoutMs`, and of the shortest usual timeouts of proxies. */
const PAUSE_MS = 4_000

const HELP = `
Sends probes through the public URL, with its real DNS, proxies and TLS, to the
running receiver: six different ones, and some of them again if one fails. The
receiver answers with a signed report of what arrived. Names what was changed on
the way; without a running receiver, how far the probes came. A probe is never
taken for a callback, and no handler runs.

URL is the callback URL. The secret is that of the subscription with this URL in
the configuration, or that of --secret-env, --secret-file, --ask or
COUNTERSIGN_SECRET, in this order of precedence: options, configuration,
variable. An application with a receiver of its own needs no configuration.
${NO_SECRET_OPTION}

Exit codes:
  0  the receiver answered, and no problem was found
  1  a problem was found
  2  wrong usage or configuration

Examples:
  $ countersign doctor https://partner.example.com/hooks/transfers
  $ countersign doctor https://partner.example.com/hooks/transfers \\
      --secret-file transfers.secret --json`

export const defineDoctor: DefineCommand = (command, io, finish) => {
  command
    .argument('<url>', 'the public URL, as it was subscribed', httpUrl)
    .option(...CONFIG_OPTION)
    .addOption(new Option('--ask', 'ask for the secret').conflicts(['secretEnv', 'secretFile']))
    .option('--event-type <name>', 'the event type of the subscription', eventTypeName)
    .option('--timeout-ms <ms>', 'how long one connection or one probe may take', duration, 15_000)
    .option(
      '--pause-ms <ms>',
      `how long the slow upload waits within its body (default: ${PAUSE_MS}, or half of --timeout-ms)`,
      duration,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
  addEnvFileOption(addSecretOptions(command)).action(async (url: URL, flags: DoctorFlags) => {
    if (flags.pauseMs !== undefined && flags.pauseMs >= flags.timeoutMs)
      throw new UsageError(
        `--pause-ms ${flags.pauseMs} is not less than --timeout-ms ${flags.timeoutMs}: a probe would end before its pause`,
      )
    await loadEnvFile(flags.env, io)
    const { secrets, eventTypeName } = await probedSubscription(url, flags, io)
    const { timeoutMs, pauseMs = Math.min(PAUSE_MS, Math.ceil(timeoutMs / 2)) } = flags
    const examination = await examine({ url, secrets, eventTypeName, timeoutMs, pauseMs })
    const healthy = examination.findings.every(({ severity }) => severity !== 'problem')
    if (flags.json) printJson(io, { healthy, ...examination })
    else io.stdout.write(readable(examination, widthOf(io.stdout)))
    finish(healthy ? EXIT.done : EXIT.failed)
  })
}

function readable({ url, steps, findings }: Examination, width: number): string {
  const rows = steps.map(({ name, ok, seen }) => [`  ${name}`, ok ? 'ok' : 'FAILED', seen])
  const blocks = findings.map(({ name, severity, message, cure, seen }) =>
    fields(
      [
        [severity, name],
        ['what happened', message],
        ...(seen === undefined ? [] : [['seen', seen] as const]),
        ['what to do', cure],
      ],
      width,
    ),
  )
  const problems = findings.filter(({ severity }) => severity === 'problem').length
  const summary = problems === 0 ? 'no problems' : problems === 1 ? '1 problem' : `${problems} problems`
  const head = `${fields([[url, summary]], width)}${table(rows, { width, narrow: [[2, 20]] })}`
  return [head, ...blocks].join('\n')
}
