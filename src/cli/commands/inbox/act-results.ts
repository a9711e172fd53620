import { userInfo } from 'node:os'
import { InvalidArgumentError } from 'commander'
import { CountersignError } from '../../../base/errors.js'
import { printable } from '../../../base/printable.js'
import type { EntryId } from '../../../callback/callback.js'
import type { ActResult, OperatorAction } from '../../../inbox/operations.js'
import {
  decisionReason,
  MAX_REASON_LENGTH,
  operatorName,
  type ActRefusal,
} from '../../../inbox/operator-action.js'
import { EXIT, printJson, UsageError, type ExitCode, type Io } from '../../io.js'
import { entryId } from '../../option-values.js'

/** The result of a decision on one entry, or with `--dry-run` the expected result. */
export interface Result {
  readonly id: EntryId
  readonly done: boolean
  /** Why it was refused, or would be. */
  readonly why?: string
  readonly code?: ActRefusal['code']
  /** Why it is in quarantine. */
  readonly reason?: string | undefined
}

function resultOf(id: EntryId, result: ActResult): Result {
  return result.done ? { id, done: true } : refused(id, result)
}

export function refused(id: EntryId, { code, message }: ActRefusal): Result {
  return { id, done: false, why: message, code }
}

interface Reported {
  readonly action: OperatorAction
  readonly dryRun: boolean
  readonly json: boolean
}

export function report(results: readonly Result[], { action, dryRun, json }: Reported, io: Io): ExitCode {
  if (json) printJson(io, { action, dryRun, results })
  else {
    for (const { id, why, reason } of results) {
      const because = reason === undefined ? '' : ` (${printable(reason)})`
      const done = `entry ${id}: ${dryRun ? `would ${action}` : action}${because}`
      const refusal = dryRun ? `entry ${id}: would be refused${because}: ${why}` : why
      ;(why === undefined ? io.stdout : io.stderr).write(`${why === undefined ? done : refusal}\n`)
    }
    if (results.length === 0) io.stdout.write('none\n')
    if (results.some(({ code }) => code === 'repeat')) io.stderr.write(`countersign: ${HANDLE_AGAIN_HINT}\n`)
  }
  return results.some(({ why }) => why) ? EXIT.unexpected : EXIT.done
}

const HANDLE_AGAIN_HINT =
  'to have a callback handled a second time, name its entry by its id and add --handle-again'

/**
 * Takes one decision after the other and reports them. If the inbox fails, it reports those that were taken before: the operator
 * could not tell otherwise.
 */
export async function decideAndReport<Chosen extends { readonly id: EntryId }>(
  chosen: readonly Chosen[],
  decide: (each: Chosen) => Promise<ActResult>,
  reported: Reported,
  io: Io,
): Promise<ExitCode> {
  const results: Result[] = []
  try {
    for (const each of chosen) results.push(resultOf(each.id, await decide(each)))
  } catch (error) {
    if (results.length > 0) report(results, reported, io)
    throw error
  }
  return report(results, reported, io)
}

/** Collects the ids of an argument that may be repeated. An id that is given twice is one entry to decide about. */
export function entryIds(id: string, before: EntryId[] = []): EntryId[] {
  const next = entryId(id)
  return before.includes(next) ? before : [...before, next]
}

/** The value of --because. */
export function because(text: string): string {
  const cure = `Use at most ${MAX_REASON_LENGTH} characters, without line feeds or other control characters.`
  return checked(() => decisionReason({ reason: text })!, cure)
}

/** The value of --by. */
export function decider(text: string): string {
  return checked(
    () => operatorName(text),
    'Use 1 to 100 characters, without control or formatting characters.',
  )
}

/** The name that the history gets without --by. */
export function systemUser(): string {
  try {
    return operatorName(userInfo().username)
  } catch {
    throw new UsageError('this user of the system has no name that the history could have: add --by NAME')
  }
}

function checked(parse: () => string, cure: string): string {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    throw new InvalidArgumentError(cure)
  }
}
