import type { ClaimEnd } from './engine.js'
import type { Attempt, AttemptState, OperatorAction } from './operations.js'

/** How many attempts of an entry are kept. An operator can retry an entry without end. */
export const ATTEMPTS_KEPT = 50

/** The result of an attempt by the end of its claim. */
export const ATTEMPT_RESULT = {
  complete: 'handled',
  reschedule: 'retrying',
  deadLetter: 'dead',
  handBack: 'handedBack',
} as const satisfies Record<ClaimEnd['move'], AttemptState>

/** An earlier attempt as a row of an inbox keeps it, short: number since the latest decision, start, end, result, code, error. */
export type PastAttempt = readonly [
  number: number,
  startedAt: number,
  endedAt: number | null,
  result: AttemptState,
  code: string | null,
  error: string | null,
]

/** `json`: a list of them. */
export function pastAttemptsOf(
  json: string | null,
  textOf: (stored: string) => string,
): readonly PastAttempt[] {
  if (json === null) return []
  return (JSON.parse(json) as PastAttempt[]).map(([number, startedAt, endedAt, result, code, error]) => {
    return [number, startedAt, endedAt, result, code, error === null ? null : textOf(error)]
  })
}

/** A decision, and what it changed; undefined of an undo. */
interface Decision {
  readonly action: OperatorAction
  readonly before?: { readonly attempts: number } | undefined
}

/** How many attempts an entry no longer counts, because an operator had it handled again. */
export function attemptsBefore(decisions: readonly Decision[]): number {
  return decisions.reduce((sum, { action, before }, index) => {
    const startsAgain = action === 'retry' || action === 'release'
    const isTakenBack = decisions[index + 1]?.action === 'undo'
    return startsAgain && !isTakenBack ? sum + (before?.attempts ?? 0) : sum
  }, 0)
}

/** The latest attempt, which is not among the earlier ones until it fails or another one begins. */
interface LatestAttempt {
  /** Null if there is none. */
  readonly startedAt: number | null
  /** When it succeeded. */
  readonly handledAt: number | null
  readonly isRunning: boolean
}

/**
 * The attempts of an entry, oldest first. `count`: how many there were in all. Their numbers do not start again after a decision of an
 * operator, unlike `ClaimedEntry.attempt`. They are counted from the latest attempt, because the first ones may not be kept. An attempt
 * that was handed back is not among `count`. The attempt after it has the same number.
 */
export function attemptsOf(past: readonly PastAttempt[], latest: LatestAttempt, count: number): Attempt[] {
  const { startedAt, handledAt, isRunning } = latest
  const result = handledAt !== null ? 'handled' : isRunning ? 'running' : 'interrupted'
  const all = startedAt === null ? past : [...past, [0, startedAt, handledAt, result, null, null] as const]
  const newestFirst = all.slice(-ATTEMPTS_KEPT).toReversed()
  let number = count + 1
  return newestFirst
    .map((attempt) => ({ ...attemptOf(attempt), number: attempt[3] === 'handedBack' ? number : --number }))
    .toReversed()
}

function attemptOf([, startedAt, endedAt, result, code, error]: PastAttempt): Omit<Attempt, 'number'> {
  return {
    startedAt: new Date(startedAt),
    ...(endedAt !== null && { endedAt: new Date(endedAt) }),
    result,
    ...(code !== null && { code }),
    ...(error !== null && { error }),
  }
}
