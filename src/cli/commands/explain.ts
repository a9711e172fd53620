import { InvalidArgumentError } from 'commander'
import { printable } from '../../base/printable.js'
import { OUTCOMES, type OutcomeCode } from '../../callback/outcomes.js'
import { explainCallback, type Cause, type Explanation, type Finding } from '../../diagnosis/index.js'
import { addEnvFileOption, CONFIG_OPTION, loadEnvFile } from '../environment.js'
import { EXIT, printJson, UsageError, type DefineCommand, type Io } from '../io.js'
import { NO_SECRET_OPTION } from '../secret-option.js'
import { fields, widthOf } from '../table.js'
import { configuredOptions } from './explain/configured.js'
import { readRecordedFiles } from './explain/recorded-file.js'
import { addTryOptions, readValuesToTry, type TryFlags } from './explain/values-to-try.js'

interface ExplainFlags extends TryFlags {
  readonly config?: string
  readonly env?: string
  readonly receivedAt?: Date | 'mtime'
  readonly json?: true
}

interface Explained extends Omit<Explanation, 'findings'> {
  readonly name: string
  /** Whether the request has its body, without which no signature can be computed. */
  readonly bodyRead: boolean
  /** The code with which a receiver refused it, if the file is a capture. */
  readonly refusedFor?: OutcomeCode
  /** Whether the signature is valid, a cause was proven, or a part of the request is missing. */
  readonly explained: boolean
  readonly findings: readonly ShownFinding[]
}

interface ShownFinding extends Finding {
  /** The option that gave the secret that was signed with, as it was written. */
  readonly secretFrom?: string
}

/** Nobody waits for an answer, and a large body has many forms. */
const MAX_MS = 10_000

/**
 * A signed part of the request is missing. That is the reason of the refusal, whether or not the callback is forged, and no secret
 * or URL could prove it.
 */
const MISSING_PARTS: readonly Cause[] = [
  'authorization-stripped',
  'authorization-replaced',
  'timestamp-missing',
  'body-truncated',
]

const HELP = `
Computes the signature of recorded requests under each likely mistake, and names the mistake under which it matches.
FILE is NAME.http with the bytes of one HTTP/1.1 request, a folder of such files, or - for the standard input.

The request is compared with the subscriptions of the configuration. Without a configuration, they are those of
NAME.json in the same folder, or the first secret and the first URL that the options give. Further secrets and URLs are
tried in place of the configured ones: previous secrets, and URLs that may have been subscribed.

The output contains no secret, no signature and no body.
${NO_SECRET_OPTION}
The same holds for URLs, whose queries may hold tokens.

Exit codes:
  0  each request is valid, or its cause was proven, or a signed part of it is missing
  1  a request was not explained: no cause was proven, and it may be forged
  2  wrong usage or configuration, or FILE is not a recorded request

Examples:
  $ countersign explain captured.http
  $ countersign explain captured/ --config countersign.config.mjs --secret-file previous.secret --json
  $ countersign explain first.http second.http --received-at mtime`

export const defineExplain: DefineCommand = (command, io, finish) => {
  command
    .argument('<file...>', 'recorded requests, folders of them, or - for the standard input')
    .option(...CONFIG_OPTION)
    .option(
      '--received-at <time>',
      'when they arrived, to compare clocks: an ISO time, or mtime of each file',
      receivedAt,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
  addEnvFileOption(addTryOptions(command)).action(async (names: string[], flags: ExplainFlags) => {
    const explained = await explain(names, flags, io)
    if (flags.json)
      printJson(io, { requests: explained, explained: explained.every((each) => each.explained) })
    else io.stdout.write(explained.map((each) => readable(each, widthOf(io.stdout))).join('\n'))
    finish(explained.every((each) => each.explained) ? EXIT.done : EXIT.failed)
  })
}

async function explain(names: readonly string[], flags: ExplainFlags, io: Io): Promise<Explained[]> {
  if (flags.ask && names.includes('-')) {
    throw new UsageError('--ask reads the standard input: name a file in place of -')
  }
  await loadEnvFile(flags.env, io)
  const files = await readRecordedFiles(names, io, flags.receivedAt)
  const toTry = await readValuesToTry(flags, io)
  const optionsOf = await configuredOptions(flags.config, toTry, io)
  const explained: Explained[] = []
  for (const file of files) {
    const otherRequests = files.filter((other) => other !== file).map(({ request }) => request)
    const options = { ...(await optionsOf(file)), otherRequests, maxMs: MAX_MS }
    const explanation = explainCallback(file.request, options)
    const { request, name, refusedFor } = file
    const findings = explanation.findings.map((finding) => shownFinding(finding, toTry.secretsFrom))
    explained.push({
      name,
      bodyRead: request.bodyRead !== false,
      ...(refusedFor && { refusedFor }),
      explained: explanation.verified || explanation.findings.some(isExplanation),
      ...explanation,
      findings,
    })
  }
  return explained
}

function isExplanation({ cause, certainty }: Finding): boolean {
  return certainty === 'proven' || MISSING_PARTS.includes(cause)
}

function shownFinding(finding: Finding, secretsFrom: readonly string[]): ShownFinding {
  const { previousSecret } = finding.details
  const secretFrom = previousSecret === undefined ? undefined : secretsFrom[previousSecret]
  return { ...finding, ...(secretFrom !== undefined && { secretFrom }) }
}

function readable(explained: Explained, width: number): string {
  const { name, verified, findings, stoppedBy, refusedFor } = explained
  const blocks = findings.map((finding) => `\n${fields(rowsOf(finding), width)}`)
  const isOpen = !verified && findings.every(({ certainty }) => certainty !== 'proven')
  const stopped = isOpen && stoppedBy ? '\nThe search ended before everything was tried.\n' : ''
  const state = stateOf(explained)
  // The names of captures are long.
  const isShort = name.length + state.length + 2 <= width
  const head = isShort
    ? fields([[name, state]], width)
    : `${printable(name)}\n${fields([['', state]], width)}`
  const refused = row('refused', refusedFor && `${refusedFor}: ${OUTCOMES[refusedFor].reason}`)
  return `${head}${refused.length > 0 ? fields(refused, width) : ''}${blocks.join('')}${stopped}`
}

function stateOf({ verified, bodyRead }: Explained): string {
  if (verified) return 'the signature is valid'
  return bodyRead
    ? 'the signature does not match'
    : 'the signature cannot be computed: the receiver did not read the body'
}

function rowsOf({
  cause,
  togetherWith,
  certainty,
  message,
  cure,
  details,
  secretFrom,
}: ShownFinding): (readonly [string, string])[] {
  const { subscription, changes, signedUrl, sign, differenceMs, ruledOut } = details
  const name = togetherWith ? `${cause}, together with ${togetherWith}` : cause
  return [
    ['cause', `${name} (${certainty})`],
    ['what happened', message],
    ['what to do', cure],
    ...row(
      'subscription',
      subscription && (subscription.id ?? `${subscription.eventTypeName} ${subscription.callbackUrl}`),
    ),
    ...row('secret', secretFrom),
    ...row('matches', changes?.join('; ')),
    ...row('signed URL', signedUrl),
    ...row('sign', sign),
    ...row('difference', differenceMs === undefined ? undefined : `${Math.round(differenceMs / 1000)} s`),
    ...row('ruled out', ruledOut && ruledOut.length > 0 ? ruledOut.join(', ') : undefined),
  ]
}

function row(name: string, value: string | undefined): (readonly [string, string])[] {
  return value === undefined ? [] : [[name, value]]
}

function receivedAt(text: string): Date | 'mtime' {
  if (text === 'mtime') return text
  const time = new Date(text)
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(time.getTime())) return time
  throw new InvalidArgumentError('Use an ISO time such as 2026-11-03T09:14:27Z, or mtime.')
}
