import { join, resolve } from 'node:path'
import { captureName } from '../../capture/kept-requests.js'
import { hasMarker } from '../../diagnosis/signature-marker.js'
import {
  loadRecordedRequest,
  loadRecordedRequests,
  replayRecordedRequest,
  type RecordedRequest,
} from '../../testing/recorded-requests.js'
import { namesIn } from '../bounded-read.js'
import { complain, EXIT, printJson, UsageError, type DefineCommand, type ExitCode, type Io } from '../io.js'
import { duration, httpUrl } from '../option-values.js'
import { table, widthOf } from '../table.js'

interface ReplayFlags {
  readonly url: URL
  readonly timeoutMs: number
  readonly json?: true
}

interface Replayed {
  readonly name: string
  readonly expected: number
  readonly expectedOutcome: string
  readonly status?: number
  /** Why there is no answer. */
  readonly error?: string
  readonly asExpected: boolean
}

const HELP = `
Writes each NAME.http to a socket byte for byte, one after the other. NAME.json
in the same folder has the expected status. The files of a folder are sent in
the order of their names. Only host and port of --url are used: the path and the
Host header are those of the recording.

Only the status is compared. The outcome, such as "handled" or "duplicate", is
in the log of the receiver. A recording keeps its timestamp: the receiver needs
a toleranceMs or a clock that accepts it. A key that the receiver remembers from
an earlier replay is a duplicate, which is answered 200, too.

Exit codes:
  0  every status was as expected
  1  a request was not answered
  2  wrong usage, or a recording that cannot be read
  3  a status was not as expected

Examples:
  $ countersign replay recorded/ --url http://127.0.0.1:3000
  $ countersign replay first-delivery.http second-delivery.http \\
      --url http://127.0.0.1:3000 --json`

export const defineReplay: DefineCommand = (command, io, finish) => {
  command
    .argument('<path...>', 'folders of recorded requests, or NAME.http files')
    .requiredOption('--url <url>', 'the receiver, by plain http', httpUrl)
    .option('--timeout-ms <number>', 'how long an answer may take', duration, 30_000)
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (paths: string[], flags: ReplayFlags) => {
      if (flags.url.protocol !== 'http:') {
        throw new UsageError(
          '--url: replay writes to a plain socket, so it needs the http address of the receiver',
        )
      }
      const recorded = (await Promise.all(paths.map((path) => load(resolve(io.cwd(), path), io)))).flat()
      const replayed: Replayed[] = []
      // One after the other: a recording may be the repeat of the one before it.
      for (const request of recorded) replayed.push(await replay(request, flags))
      if (flags.json) printJson(io, { replayed, asExpected: replayed.every(({ asExpected }) => asExpected) })
      else print(replayed, io)
      if (recorded.some(({ bytes }, index) => !replayed[index]!.asExpected && hasMarker(headOf(bytes))))
        complain(io, HIDDEN_SIGNATURES)
      finish(exitCode(replayed))
    })
}

const HIDDEN_SIGNATURES =
  'signatures were hidden when requests were captured, and a receiver answers 401 to them: capture with ' +
  'keepSignatures: true, or make fixtures with countersign capture anonymise'

function headOf(bytes: Buffer): string {
  return bytes.toString('latin1', 0, bytes.indexOf('\r\n\r\n'))
}

async function load(path: string, io: Io): Promise<RecordedRequest[]> {
  const files = await namesIn(path)
  if (!files) return [await loadRecordedRequest(path)]
  const halves = halvesOfCaptures(files)
  if (halves.length === 0) return loadRecordedRequests(path)
  for (const half of halves) io.stderr.write(`countersign: ${half}: skipped, its other file is missing\n`)
  const complete = files.filter((file) => file.endsWith('.http') && !halves.includes(file)).sort()
  if (complete.length === 0) throw new UsageError(`${path} holds no complete pair of NAME.http and NAME.json`)
  return Promise.all(complete.map((file) => loadRecordedRequest(join(path, file))))
}

/** A receiver that was killed, or that writes to the folder at this moment, leaves them. */
function halvesOfCaptures(files: readonly string[]): string[] {
  const all = new Set(files)
  return files.filter((file) => {
    const name = captureName(file)
    return name !== undefined && !(all.has(`${name}.http`) && all.has(`${name}.json`))
  })
}

async function replay(recorded: RecordedRequest, { url, timeoutMs }: ReplayFlags): Promise<Replayed> {
  const { name, expect } = recorded
  const expected = { name, expected: expect.status, expectedOutcome: expect.outcome }
  const target = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) }
  try {
    const { status } = await replayRecordedRequest(recorded, target, { timeoutMs })
    return { ...expected, status, asExpected: status === expect.status }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { ...expected, error: code ?? message, asExpected: false }
  }
}

function print(replayed: readonly Replayed[], io: Io): void {
  const rows = replayed.map(({ name, expected, status, error, asExpected }) => [
    name,
    String(expected),
    status === undefined ? `no answer (${error})` : String(status),
    asExpected ? 'ok' : 'NOT AS EXPECTED',
  ])
  const wrong = replayed.filter(({ asExpected }) => !asExpected).length
  io.stdout.write(
    table([['request', 'expected', 'answered', ''], ...rows], {
      width: widthOf(io.stdout),
      narrow: [[0, 16]],
    }),
  )
  io.stdout.write(
    `\n${replayed.length} replayed, ${wrong === 0 ? 'all as expected' : `${wrong} not as expected`}.\n` +
      'Only the status is compared; the outcome is in the log of the receiver.\n',
  )
}

function exitCode(replayed: readonly Replayed[]): ExitCode {
  if (replayed.some(({ status }) => status === undefined)) return EXIT.failed
  return replayed.every(({ asExpected }) => asExpected) ? EXIT.done : EXIT.unexpected
}
