import { callbackUrlProblem } from '../../signature/index.js'
import { EXIT, printJson, UsageError, type ExitCode, type Io } from '../io.js'
import { jsonEntry, readableEntry, type ConfigEntry } from '../config/config-entry.js'
import type { KeptSecret } from './kept-secret.js'
import { printable } from '../readable-log.js'
import {
  callService,
  isFailure,
  jsonResult,
  readableResult,
  type Answer,
  type Failure,
} from './service-call.js'
import type { ServiceAccount } from './service-options.js'

export interface NewSubscription {
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly description?: string | undefined
  readonly idempotencyKey: string
}

export interface CreationReport {
  readonly kept: KeptSecret
  readonly entry: ConfigEntry
  /** What is known of the secrets that there were before, for a reader. */
  readonly before?: readonly string[]
  /** What to do now. */
  readonly next: readonly string[]
  readonly showSecret?: true | undefined
  readonly json?: true | undefined
  /** Of the command, for --json. */
  readonly more?: object | undefined
}

/** @throws UsageError */
export function checkCallbackUrl(callbackUrl: string): void {
  const problem = callbackUrlProblem(callbackUrl)
  if (problem) throw new UsageError(`--callback-url: ${problem}`)
}

/** Creates the subscription of a secret that is kept already, and prints what came of it. */
export async function createSubscription(
  account: ServiceAccount,
  { idempotencyKey, ...subscription }: NewSubscription,
  report: CreationReport,
  io: Io,
): Promise<ExitCode> {
  const { kept } = report
  // Before anything is sent: whoever ends the program now needs both to repeat it.
  io.stderr.write(`the secret is kept in ${kept.place}; the idempotency key is ${idempotencyKey}\n`)
  const result = await callService(account, [kept.secret], async (client) =>
    client.subscriptions.create({ ...subscription, secret: kept.secret }, { idempotencyKey }),
  )
  const created = !isFailure(result) && result.ok
  const repeatWith = `--existing-secret --idempotency-key ${idempotencyKey}`
  if (report.json) {
    const facts = { created, idempotencyKey, keptIn: kept.reference, ...jsonResult(result) }
    const rest = created ? afterwards(report) : { mayBeCreated: mayBeCreated(result), repeatWith }
    printJson(io, { ...facts, ...rest })
  } else if (created) {
    io.stderr.write(`created: ${readableResult(result)}\n`)
    printEntry(report, io)
  } else {
    const said = mayBeCreated(result) ? 'whether it was created is not known' : 'it was not created'
    io.stderr.write(`countersign: ${said}: ${readableResult(result)}\n`)
    io.stderr.write(`to try again with this secret and this key, add ${repeatWith} to the same command\n`)
  }
  return created ? EXIT.done : EXIT.failed
}

function mayBeCreated(result: Answer | Failure): boolean {
  return isFailure(result) ? result.sent : result.status >= 500
}

/** Prints what there is to do before the subscription is created. */
export function printPrepared(report: CreationReport, io: Io): void {
  if (report.json) printJson(io, { created: false, keptIn: report.kept.reference, ...afterwards(report) })
  else {
    io.stderr.write(`the secret is kept in ${report.kept.place}; nothing was sent\n`)
    printEntry(report, io)
  }
}

function printEntry({ kept, entry, next, showSecret, before = [] }: CreationReport, io: Io): void {
  io.stdout.write(readableEntry(entry))
  if (showSecret) io.stderr.write(`the secret: ${kept.secret}\n`)
  for (const line of before) io.stderr.write(`${printable(line)}\n`)
  next.forEach((step, index) => io.stderr.write(`${index + 1}. ${step}\n`))
}

function afterwards({ kept, entry, next, showSecret, more }: CreationReport): object {
  return { entry: jsonEntry(entry), ...(showSecret && { secret: kept.secret }), ...more, next }
}
