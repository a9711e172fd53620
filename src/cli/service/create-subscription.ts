import { randomUUID } from 'node:crypto'
import { isRefusal } from '../../client/effect.js'
import { eventTypeNameProblem } from '../../base/event-type-name.js'
import { callbackUrlProblem } from '../../signature/index.js'
import { EXIT, printJson, UsageError, type ExitCode, type Io } from '../io.js'
import { jsonEntry, readableEntry, type ConfigEntry } from '../config/config-entry.js'
import type { KeptSecret } from './kept-secret.js'
import { printable } from '../../base/printable.js'
import { callService, isFailure, jsonResult, readableResult } from './service-call.js'
import type { ServiceAccount } from './service-options.js'

export interface NewSubscription {
  readonly eventTypeName: string
  readonly callbackUrl: string
  readonly description?: string | undefined
  /** The key of an earlier call, to repeat that call. @default a new one */
  readonly idempotencyKey?: string | undefined
}

export interface CreationReport {
  readonly kept: KeptSecret
  readonly entry: ConfigEntry
  /** Whether the configuration already has the entry, so that it need not be printed. */
  readonly isConfigured?: boolean | undefined
  /** When the earlier secrets were last used, as text. */
  readonly before?: readonly string[]
  /** The earlier secrets, which no output may contain either. */
  readonly hidden?: readonly string[]
  /** Whether an earlier run may already have sent this secret with the given idempotency key. */
  readonly isRepeat: boolean
  /** The next steps for the user. */
  readonly next: readonly string[]
  readonly showSecret?: true | undefined
  readonly json?: true | undefined
  /** Further fields for --json. */
  readonly more?: object | undefined
}

/** Called before a secret is written, so that wrong usage leaves none behind. @throws UsageError */
export function checkSubscription(eventTypeName: string, callbackUrl: string): void {
  const nameProblem = eventTypeNameProblem(eventTypeName)
  if (nameProblem) throw new UsageError(`--event-type: ${nameProblem}`)
  const urlProblem = callbackUrlProblem(callbackUrl)
  if (urlProblem) throw new UsageError(`--callback-url: ${urlProblem}`)
}

/** Why the first step is urgent once the subscription exists. */
export const UNTIL_THEN = ' Until then it answers 401 to callbacks that are signed with the new secret.'

/** The last of the steps to take after --prepare. */
export const AFTER_PREPARE = 'Run the same command with --existing-secret in place of --prepare.'

/** Creates the subscription; without an account, as with --prepare, only prints what to do before. */
export async function createOrPrepare(
  account: ServiceAccount | undefined,
  subscription: NewSubscription,
  report: CreationReport,
  io: Io,
): Promise<ExitCode> {
  if (account) return createSubscription(account, subscription, report, io)
  if (report.json) printJson(io, { created: false, keptIn: report.kept.reference, ...afterwards(report) })
  else {
    io.stderr.write(`the secret is kept in ${report.kept.place}; nothing was sent\n`)
    printEntry(report, io)
  }
  return EXIT.done
}

/** Creates the subscription of a secret that is already stored, and prints the result. */
async function createSubscription(
  account: ServiceAccount,
  { idempotencyKey: given, ...subscription }: NewSubscription,
  report: CreationReport,
  io: Io,
): Promise<ExitCode> {
  const { kept, hidden = [] } = report
  const idempotencyKey = given ?? randomUUID()
  // Before anything is sent: both are needed to repeat the request if the program is ended now.
  io.stderr.write(`the secret is kept in ${kept.place}; the idempotency key is ${idempotencyKey}\n`)
  const result = await callService(account, [kept.secret, ...hidden], async (client) =>
    client.subscriptions.create({ ...subscription, secret: kept.secret }, { idempotencyKey }),
  )
  const created = !isFailure(result) && result.ok
  const repeatWith = `--existing-secret --key ${idempotencyKey}`
  const mayBeCreated = report.isRepeat || result.mayBeCreated !== false
  if (report.json) {
    const facts = { created, idempotencyKey, keptIn: kept.reference, ...jsonResult(result) }
    printJson(io, { ...facts, ...(created ? afterwards(report) : { mayBeCreated, repeatWith }) })
  } else if (created) {
    io.stderr.write(`created: ${readableResult(result)}\n`)
    printEntry(report, io)
  } else {
    const said = mayBeCreated ? 'whether it was created is not known' : 'it was not created'
    io.stderr.write(`countersign: ${said}: ${readableResult(result)}\n`)
    if (mayBeCreated && !isFailure(result)) io.stderr.write(doubt(result.status))
    io.stderr.write(`to try again with this secret and this key, add ${repeatWith} to the same command\n`)
  }
  return created ? EXIT.done : EXIT.failed
}

/** Why a refusal does not prove that there is no subscription. */
function doubt(status: number): string {
  if (status === 409)
    return 'a conflict may mean that the subscription exists: the service does not document it\n'
  if (!isRefusal(status)) return ''
  return 'this answer is about the last request: an earlier one may have created the subscription\n'
}

function printEntry(report: CreationReport, io: Io): void {
  const { kept, entry, isConfigured, next, showSecret, before = [] } = report
  if (!isConfigured) io.stdout.write(readableEntry(entry))
  if (showSecret) io.stderr.write(`the secret: ${kept.secret}\n`)
  for (const line of before) io.stderr.write(`${printable(line)}\n`)
  next.forEach((step, index) => io.stderr.write(`${index + 1}. ${step}\n`))
}

function afterwards({ kept, entry, next, showSecret, more }: CreationReport): object {
  return { entry: jsonEntry(entry), ...(showSecret && { secret: kept.secret }), ...more, next }
}
