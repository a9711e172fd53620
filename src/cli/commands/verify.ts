import { InvalidArgumentError } from 'commander'
import { printable } from '../../base/printable.js'
import { OUTCOMES, type OutcomeCode } from '../../callback/outcomes.js'
import { explainCallback, type Cause, type Explanation, type Finding } from '../../diagnosis/index.js'
import { hasMarker } from '../../diagnosis/signature-marker.js'
import type { ReceivedRequest } from '../../diagnosis/index.js'
import { callbackUrlProblem, stringToSign, verifyCallback } from '../../signature/index.js'
import { hashBody } from '../../signature/string-to-sign.js'
import { headerValues } from '../../testing/http-message.js'
import { addEnvFileOption, CONFIG_OPTION, loadEnvFile } from '../environment.js'
import { EXIT, printJson, UsageError, type DefineCommand, type Io } from '../io.js'
import { NO_SECRET_OPTION } from '../secret-option.js'
import { fields, widthOf } from '../table.js'
import { configuredOptions, type ShownSubscription } from './verify/configured.js'
import { readRecordedFiles } from './verify/recorded-file.js'
import { addTryOptions, readValuesToTry, type TryFlags } from './verify/values-to-try.js'

interface VerifyFlags extends TryFlags {
  readonly config?: string
  readonly callbackUrl?: string
  readonly env?: string
  readonly receivedAt?: Date | 'mtime'
  readonly json?: true
}

interface Verified extends Omit<Explanation, 'findings' | 'verified'>, Partial<SignedValues> {
  readonly name: string
  readonly valid: boolean
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

/** What was signed, to compare it with the values of other code. */
interface SignedValues {
  readonly callbackUrl: string
  /** Why it is not valid. */
  readonly code?: string
  readonly signedAt?: Date
  readonly bodyBytes: number
  readonly bodyHash: string
  /** The string that is signed, if the request has a timestamp. */
  readonly stringToSign?: string
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
Says of recorded requests whether their signature is valid. If it is not,
computes the signature under each likely mistake, and names the mistake under
which it matches. FILE is NAME.http with the bytes of one HTTP/1.1 request, a
folder of such files, or - for the standard input.

The request is compared with --callback-url and the first secret that the
options give, or that of COUNTERSIGN_SECRET; without --callback-url with the
subscriptions of the configuration. Without a configuration, they are those of
NAME.json in the same folder, or the first secret and the first URL that the
options give. Further secrets and URLs are tried in place of the configured
ones: previous secrets, and URLs that may have been subscribed.

With --callback-url or NAME.json the output has the values that were signed, to
compare them with those of your own code. The output contains no secret, no
signature and no body.
${NO_SECRET_OPTION}
The same holds for URLs whose queries hold tokens: use --url-file or --url-env
for them.

Exit codes:
  0  the signature of each request is valid
  2  wrong usage or configuration, or FILE is not a recorded request
  3  the signature of a request is not valid; "explained" of --json says whether
     the cause is known or it may be forged

Examples:
  $ countersign verify captured.http
  $ countersign verify captured/ --config countersign.config.mjs \\
      --secret-file previous.secret --json
  $ countersign verify captured.http \\
      --callback-url https://partner.example.com/hooks/transfers \\
      --secret-file a.secret
  $ countersign verify first.http second.http --received-at mtime`

export const defineVerify: DefineCommand = (command, io, finish) => {
  command
    .argument('<file...>', 'recorded requests, folders of them, or - for the standard input')
    .option(...CONFIG_OPTION)
    .option('--callback-url <url>', 'the callback URL exactly as it was subscribed')
    .option(
      '--received-at <time>',
      'when they arrived, to compare clocks: an ISO time, or mtime of each file',
      receivedAt,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
  addEnvFileOption(addTryOptions(command)).action(async (names: string[], flags: VerifyFlags) => {
    const requests = await verify(names, flags, io)
    const valid = requests.every((each) => each.valid)
    const explained = requests.every((each) => each.explained)
    if (flags.json) printJson(io, { valid, explained, requests })
    else io.stdout.write(requests.map((each) => readable(each, widthOf(io.stdout))).join('\n'))
    finish(valid ? EXIT.done : EXIT.unexpected)
  })
}

async function verify(names: readonly string[], flags: VerifyFlags, io: Io): Promise<Verified[]> {
  if (flags.ask && names.includes('-')) {
    throw new UsageError('--ask reads the standard input: name a file in place of -')
  }
  const problem = flags.callbackUrl === undefined ? undefined : callbackUrlProblem(flags.callbackUrl)
  if (problem) throw new UsageError(`--callback-url: ${problem}`)
  await loadEnvFile(flags.env, io)
  const files = await readRecordedFiles(names, io, flags.receivedAt)
  const toTry = await readValuesToTry(flags, io)
  const optionsOf = await configuredOptions(flags, toTry, io)
  const verified: Verified[] = []
  for (const file of files) {
    const otherRequests = files.filter((other) => other !== file).map(({ request }) => request)
    const { shown, ...configured } = await optionsOf(file)
    const options = { ...configured, otherRequests, maxMs: MAX_MS }
    const { verified: valid, ...explanation } = explainCallback(file.request, options)
    const { request, name, refusedFor } = file
    const findings = explanation.findings.map((finding) => shownFinding(finding, toTry.secretsFrom))
    verified.push({
      name,
      valid,
      ...(shown && request.bodyRead !== false && signedValues(request, shown)),
      bodyRead: request.bodyRead !== false,
      ...(refusedFor && { refusedFor }),
      explained: valid || explanation.findings.some(isExplanation),
      ...explanation,
      findings,
    })
  }
  return verified
}

function signedValues(
  { rawHeaders = [], body }: ReceivedRequest,
  subscription: ShownSubscription,
): SignedValues {
  const { callbackUrl, secret } = subscription
  const authorization = headerValues(rawHeaders, 'authorization')
  const timestamps = headerValues(rawHeaders, 'authorization-timestamp')
  const result = verifyCallback({ callbackUrl, secret, timestamp: timestamps, authorization, body })
  const [timestamp, ...repeats] = timestamps
  return {
    callbackUrl,
    // A receiver has hidden the signature of a capture.
    ...(!result.valid && !authorization.some(hasMarker) && { code: result.code }),
    ...(result.valid && { signedAt: result.signedAt }),
    bodyBytes: body.length,
    bodyHash: hashBody(body),
    ...(timestamp !== undefined &&
      repeats.length === 0 && { stringToSign: stringToSign({ callbackUrl, timestamp, body }) }),
  }
}

function isExplanation({ cause, certainty }: Finding): boolean {
  return certainty === 'proven' || MISSING_PARTS.includes(cause)
}

function shownFinding(finding: Finding, secretsFrom: readonly string[]): ShownFinding {
  const { previousSecret } = finding.details
  const secretFrom = previousSecret === undefined ? undefined : secretsFrom[previousSecret]
  return { ...finding, ...(secretFrom !== undefined && { secretFrom }) }
}

function readable(request: Verified, width: number): string {
  const { name, valid, findings, stoppedBy, refusedFor } = request
  const blocks = findings.map((finding) => `\n${fields(rowsOf(finding), width)}`)
  const isOpen = !valid && findings.every(({ certainty }) => certainty !== 'proven')
  const stopped = isOpen && stoppedBy ? '\nThe search ended before everything was tried.\n' : ''
  const state = stateOf(request)
  // The names of captures are long.
  const isShort = name.length + state.length + 2 <= width
  const head = isShort
    ? fields([[name, state]], width)
    : `${printable(name)}\n${fields([['', state]], width)}`
  const refused = row('refused', refusedFor && `${refusedFor}: ${OUTCOMES[refusedFor].reason}`)
  const facts = [...refused, ...signedRows(request)]
  return `${head}${facts.length > 0 ? fields(facts, width) : ''}${blocks.join('')}${stopped}`
}

function signedRows(values: Verified): (readonly [string, string])[] {
  return [
    ...row('code', values.code),
    ...row('callback URL', values.callbackUrl),
    ...row('signed at', values.signedAt?.toISOString()),
    ...row('body hash', values.bodyHash && `${values.bodyHash} (${values.bodyBytes} bytes)`),
    ...row('string to sign', values.stringToSign && JSON.stringify(values.stringToSign)),
  ]
}

function stateOf({ valid, bodyRead }: Verified): string {
  if (valid) return 'the signature is valid'
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
