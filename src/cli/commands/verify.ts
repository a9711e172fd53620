import { resolve } from 'node:path'
import { OUTCOMES } from '../../callback/outcomes.js'
import { hasMarker } from '../../diagnosis/signature-marker.js'
import { callbackUrlProblem, stringToSign, verifyCallback } from '../../signature/index.js'
import { hashBody } from '../../signature/string-to-sign.js'
import { headerValues } from '../../testing/http-message.js'
import { loadRecordedRequest, parseRecordedRequest } from '../../testing/recorded-requests.js'
import { readBounded } from '../bounded-read.js'
import { EXIT, printJson, UsageError, type DefineCommand, type Io } from '../io.js'
import { addSecretOptions, readSecret, SECRET_HELP, type SecretFlags } from '../secret-option.js'
import { table } from '../table.js'

interface VerifyFlags extends SecretFlags {
  readonly callbackUrl?: string
  readonly json?: true
}

interface Report {
  readonly valid: boolean
  /** Why it is not valid. */
  readonly reason?: string
  readonly explanation?: string
  readonly callbackUrl: string
  readonly signedAt?: string
  readonly bodyBytes: number
  readonly bodyHash: string
  /** The string that is signed, if the request has a timestamp. */
  readonly stringToSign?: string
}

const HELP = `
FILE holds the bytes of one recorded HTTP/1.1 request. The subscription is --callback-url and the secret; without
--callback-url it is read from FILE.json in the same folder. Only the signature is checked: not the age of the
request, its event type or its idempotency key.

The intermediate values that are printed contain no secret: compare them with those of your own code.
${SECRET_HELP}

Exit codes:
  0  the signature is valid
  2  wrong usage, or FILE is not a recorded request, or is a capture without its signature
  3  the signature is not valid; the reason is printed

Examples:
  $ countersign verify recorded/first-delivery.http
  $ countersign verify captured.http --callback-url https://partner.example.com/hooks/transfers --secret-file secret.txt`

export const defineVerify: DefineCommand = (command, io, finish) => {
  command
    .argument('<file.http>', 'the recorded request')
    .option('--callback-url <url>', 'the callback URL exactly as it was subscribed')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
  addSecretOptions(command).action(async (file: string, flags: VerifyFlags) => {
    const report = verify(file, await readRecording(file, flags, io))
    if (flags.json) printJson(io, report)
    else io.stdout.write(readable(report))
    finish(report.valid ? EXIT.done : EXIT.unexpected)
  })
}

interface Recording {
  readonly bytes: Buffer
  readonly callbackUrl: string
  readonly secret: string
}

async function readRecording(file: string, flags: VerifyFlags, io: Io): Promise<Recording> {
  const path = resolve(io.cwd(), file)
  if (flags.callbackUrl === undefined) {
    if (flags.secretEnv !== undefined || flags.secretFile !== undefined) {
      throw new UsageError(
        'a secret needs a --callback-url as well; without both, they are those of FILE.json',
      )
    }
    const { bytes, subscription } = await loadRecordedRequest(path)
    return { bytes, ...subscription }
  }
  const problem = callbackUrlProblem(flags.callbackUrl)
  if (problem) throw new UsageError(`--callback-url: ${problem}`)
  return {
    bytes: await readBounded(path),
    callbackUrl: flags.callbackUrl,
    secret: await readSecret(flags, io),
  }
}

function verify(file: string, { bytes, callbackUrl, secret }: Recording): Report {
  const { rawHeaders, body } = parseRecordedRequest(bytes)
  const authorization = headerValues(rawHeaders, 'authorization')
  if (authorization.some(hasMarker)) {
    throw new UsageError(
      `${file}: its signature was hidden when it was captured, so it cannot be verified: use countersign explain, or ` +
        'capture with keepSignatures: true',
    )
  }
  const timestamps = headerValues(rawHeaders, 'authorization-timestamp')
  const result = verifyCallback({ callbackUrl, secret, timestamp: timestamps, authorization, body })
  const [timestamp, ...repeats] = timestamps
  return {
    valid: result.valid,
    ...(result.valid ? {} : { reason: result.reason, explanation: explain(result.reason) }),
    callbackUrl,
    ...(result.valid ? { signedAt: result.signedAt.toISOString() } : {}),
    bodyBytes: body.length,
    bodyHash: hashBody(body),
    ...(timestamp === undefined || repeats.length > 0
      ? {}
      : { stringToSign: stringToSign({ callbackUrl, timestamp, body }) }),
  }
}

function explain(reason: string): string {
  return reason in OUTCOMES
    ? OUTCOMES[reason as keyof typeof OUTCOMES].reason
    : 'the subscription cannot be used'
}

function readable({ valid, reason, explanation, ...values }: Report): string {
  const rows = Object.entries(values).map(([name, value]) => [
    name,
    name === 'stringToSign' ? JSON.stringify(value) : String(value),
  ])
  if (valid) return `valid\n\n${table(rows)}`
  return `not valid: ${reason}: ${explanation}\n\n${table(rows)}\nTo find the cause: countersign explain FILE\n`
}
