import { Option } from 'commander'
import { callbackUrlProblem } from '../../signature/index.js'
import { FAULT_DEFAULTS, MAX_BY_MS } from '../../simulator/fault.js'
import { addBodyOptions, readBody, type BodyFlags } from '../body-option.js'
import { deliveries, deliveryCount, type DeliveryRequest, type Faults } from '../deliveries.js'
import { EXIT, printJson, UsageError, type DefineCommand, type ExitCode, type Io } from '../io.js'
import {
  duration,
  eventTypeHeader,
  headerValue,
  httpUrl,
  positiveNumber,
  statuses,
  upTo,
  wholeNumber,
} from '../option-values.js'
import { createPoster, type Poster } from '../post.js'
import { addSecretOptions, readSecret, SECRET_HELP, type SecretFlags } from '../secret-option.js'
import { table, utcTime, widthOf } from '../table.js'

interface SendFlags extends SecretFlags, BodyFlags, Omit<Faults, 'late' | 'early' | 'rewrittenType'> {
  /** True if the option has no number. */
  readonly late?: number | true
  readonly early?: number | true
  /** True if the option has no type. */
  readonly rewrittenType?: string | true
  readonly callbackUrl?: string
  readonly eventType: string
  readonly key?: string
  readonly timestamp?: string
  readonly print?: true
  readonly count: number
  readonly concurrency: number
  readonly chunked?: true
  readonly expect?: readonly number[]
  readonly timeoutMs: number
  readonly json?: true
}

interface Sent {
  /** From 1. */
  readonly callback: number
  readonly delivery: DeliveryRequest['name']
  readonly idempotencyKey: string
  readonly eventType: string
  readonly timestamp: string
  readonly bodyBytes: number
  readonly status?: number
  /** Why there is no answer. */
  readonly error?: string
  readonly durationMs: number
  readonly expected?: number
}

const HELP = `
--callback-url is signed, so it must be the callbackUrl of the receiver's
configuration; URL is only the address to send to. Each callback has its own key
and its own body, { "Id": a new UUID }, unless --key or --body is given.
Callbacks with the same --body that are signed in the same second have the same
signature, so a receiver takes them for replays.

The faults are those of countersign simulate. --repeat, --rewritten-key and
--other-body each deliver every callback once more, in the order first, repeat,
rewritten-key, other-body. The other faults change every delivery.

--print sends nothing: it prints the headers, one on each line, an empty line,
and the body as text. With --json it prints { headers, bodyBase64 }, which has
the exact bytes. URL is then not needed.

--expect takes one status for each delivery of a callback, in that order; the
last one is expected of all that follow.
${SECRET_HELP}

Exit codes:
  0  every request was answered (with --print: the request was printed), with
     the status that --expect gives; without --expect with any status, such as
     401
  1  a request was not answered
  2  wrong usage; the message says what to change
  3  every request was answered, but with another status than --expect gives

Examples:
  $ countersign send http://127.0.0.1:3000/hooks/transfers \\
      --secret-file secret.txt \\
      --callback-url https://partner.example.com/hooks/transfers --expect 200
  $ countersign send http://127.0.0.1:3000/ --callback-url ... \\
      --rewritten-key --expect 200,409
  $ countersign send http://127.0.0.1:3000/ --callback-url ... \\
      --wrong-secret --expect 401
  $ countersign send http://127.0.0.1:3000/ --callback-url ... --count 1000 \\
      --concurrency 20 --json
  $ countersign send --print \\
      --callback-url https://partner.example.com/hooks/transfers \\
      --body-file body.json`

/** The options that one printed request does not have. */
const OF_SENDING = [
  'count',
  'concurrency',
  'repeat',
  'rewrittenKey',
  'otherBody',
  'chunked',
  'expect',
  'timeoutMs',
]

export const defineSend: DefineCommand = (command, io, finish) => {
  command
    .argument('[url]', 'where to send them; not needed with --print', httpUrl)
    .option('--callback-url <url>', 'the callback URL exactly as it was subscribed (default: URL)')
    .option('--event-type <type>', 'X-Event-Type', eventTypeHeader, 'transfers.book-completed')
    .option('--key <uuid>', 'X-Idempotency-Key (default: a new UUID for each callback)', headerValue)
    .addOption(
      new Option('--timestamp <http-date>', 'Authorization-Timestamp (default: now)')
        .argParser(headerValue)
        .conflicts(['late', 'early']),
    )
    .addOption(
      new Option('--print', 'print the headers and the body, and send nothing').conflicts(OF_SENDING),
    )
  addBodyOptions(addSecretOptions(command))
    .option('--count <number>', 'how many callbacks', positiveNumber, 1)
    .option('--concurrency <number>', 'how many callbacks at a time', positiveNumber, 1)
    .option('--repeat', 'the same request a second time')
    .option('--rewritten-key', 'a replay: a second delivery with the same signature under another key')
    .option('--other-body', 'a second delivery: another body under the same key, signed')
    .option('--wrong-secret', 'a forgery: signed with another secret, so that none needs to be given')
    .addOption(
      new Option('--late [ms]', 'signed so many milliseconds ago; without a number 48 hours')
        .argParser(upTo(MAX_BY_MS, wholeNumber))
        .conflicts('early'),
    )
    .addOption(
      new Option('--early [ms]', 'signed so many milliseconds ahead; without a number 1 hour').argParser(
        upTo(MAX_BY_MS, wholeNumber),
      ),
    )
    .option('--tampered', 'one bit of the body changed after signing')
    .option('--unsigned', 'without the Authorization header')
    .option(
      '--rewritten-type [type]',
      `another X-Event-Type, which is not signed; without a type ${FAULT_DEFAULTS.rewrittenType}`,
      headerValue,
    )
    .option('--chunked', 'the body with Transfer-Encoding: chunked')
    .option('--expect <status,...>', 'the statuses to expect', statuses)
    .option('--timeout-ms <number>', 'how long an answer may take', duration, 30_000)
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (url: URL | undefined, flags: SendFlags) => finish(await send(url, flags, io)))
}

async function send(url: URL | undefined, flags: SendFlags, io: Io): Promise<ExitCode> {
  // Without user information, which may hold a password and is not sent: Authorization has the signature.
  const sentTo = url && `${url.origin}${url.pathname}${url.search}`
  const { callbackUrl = sentTo } = flags
  if (callbackUrl === undefined)
    throw new UsageError(`name ${flags.print ? 'the --callback-url' : 'the URL to send to, or use --print'}`)
  const problem = callbackUrlProblem(callbackUrl)
  if (problem) throw new UsageError(`--callback-url: ${problem}`)
  if (flags.expect && flags.expect.length > deliveryCount(flags)) {
    throw new UsageError(
      `--expect: ${flags.expect.length} statuses, but a callback has ${deliveryCount(flags)} deliveries`,
    )
  }
  const secret = flags.wrongSecret || flags.unsigned ? undefined : await readSecret(flags, io)
  const body = await readBody(flags, io)

  const plan = {
    ...flags,
    callbackUrl,
    late: flags.late === true ? FAULT_DEFAULTS.lateByMs : flags.late,
    early: flags.early === true ? FAULT_DEFAULTS.earlyByMs : flags.early,
    rewrittenType: flags.rewrittenType === true ? FAULT_DEFAULTS.rewrittenType : flags.rewrittenType,
  }
  if (flags.print) {
    const [{ request }] = deliveries(plan, secret, body) as [DeliveryRequest]
    print(request, flags, io)
    return EXIT.done
  }
  if (!url) throw new UsageError('name the URL to send to, or use --print')
  const poster = createPoster(url, { timeoutMs: flags.timeoutMs, connections: flags.concurrency })
  const sent: Sent[] = []
  let next = 1
  const lane = async () => {
    while (next <= flags.count) {
      const callback = next++
      for (const [index, delivery] of deliveries(plan, secret, body).entries()) {
        const expected = flags.expect?.[Math.min(index, flags.expect.length - 1)]
        sent.push({ callback, ...(await deliver(poster, delivery, flags)), ...(expected && { expected }) })
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(flags.concurrency, flags.count) }, lane))
  } finally {
    poster.close()
  }

  const code = exitCode(sent)
  if (flags.json) printJson(io, { url: sentTo, callbackUrl, sent, asExpected: code === EXIT.done })
  else printAnswers(sent, io)
  return code
}

async function deliver(
  poster: Poster,
  { name, request }: DeliveryRequest,
  flags: SendFlags,
): Promise<Omit<Sent, 'callback' | 'expected'>> {
  const { headers, body } = request
  const description = {
    delivery: name,
    idempotencyKey: headers['X-Idempotency-Key']!,
    eventType: headers['X-Event-Type']!,
    timestamp: headers['Authorization-Timestamp']!,
    bodyBytes: body.length,
  }
  const startedAt = performance.now()
  const durationMs = () => Math.round((performance.now() - startedAt) * 10) / 10
  try {
    const status = await poster.post({ headers, body, chunked: flags.chunked === true })
    return { ...description, status, durationMs: durationMs() }
  } catch (error) {
    const { code, name: errorName } = error as NodeJS.ErrnoException
    return { ...description, error: code ?? errorName, durationMs: durationMs() }
  }
}

function print({ headers, body }: DeliveryRequest['request'], { json }: SendFlags, io: Io): void {
  if (json) return printJson(io, { headers, bodyBase64: body.toString('base64') })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
  io.stdout.write(`${lines.join('')}\n`)
  io.stdout.write(body.toString('utf8'))
}

function printAnswers(sent: readonly Sent[], io: Io): void {
  const rows = sent.map(
    ({ callback, delivery, idempotencyKey, timestamp, status, error, durationMs, expected }) => [
      String(callback),
      delivery,
      idempotencyKey,
      utcTime(timestamp),
      status === undefined ? `no answer (${error})` : String(status),
      `${durationMs} ms`,
      expected === undefined ? '' : expected === status ? 'ok' : `EXPECTED ${expected}`,
    ],
  )
  const answers = new Map<string, number>()
  for (const { status, error } of sent) {
    const answer = String(status ?? error)
    answers.set(answer, (answers.get(answer) ?? 0) + 1)
  }
  const summary = [...answers].map(([answer, times]) => `${times} x ${answer}`).join(', ')
  const header = ['', 'delivery', 'key', 'signed (UTC)', 'answer', 'took', '']
  io.stdout.write(
    table([header, ...rows], {
      width: widthOf(io.stdout),
      narrow: [
        [2, 9],
        [4, 16],
      ],
    }),
  )
  if (sent.length > 1) io.stdout.write(`\n${sent.length} sent: ${summary}\n`)
}

function exitCode(sent: readonly Sent[]): ExitCode {
  if (sent.some(({ status }) => status === undefined)) return EXIT.failed
  return sent.every(({ status, expected }) => expected === undefined || status === expected)
    ? EXIT.done
    : EXIT.unexpected
}
