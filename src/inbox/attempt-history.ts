import type { ClaimEnd } from './inbox.js'
import type { Attempt, AttemptState } from './operations.js'

/** How many attempts of an entry are kept. An operator can retry an entry without end. */
export const ATTEMPTS_KEPT = 50

/** The result of an attempt by the end of its claim. */
export const ATTEMPT_RESULT = {
  complete: 'handled',
  reschedule: 'retrying',
  deadLetter: 'dead',
  handBack: 'handedBack',
} as const satisfies Record<ClaimEnd['move'], AttemptState>

/** An earlier attempt as a row of an inbox keeps it, short: number, start, end, result, code, error. */
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

/** The latest attempt, which is not among the earlier ones until it fails or another one begins. */
interface LatestAttempt {
  readonly number: number
  /** Null if there is none. */
  readonly startedAt: number | null
  /** When it succeeded. */
  readonly handledAt: number | null
  readonly isRunning: boolean
}

/** The attempts of an entry, oldest first. */
export function attemptsOf(past: readonly PastAttempt[], latest: LatestAttempt): Attempt[] {
  const { number, startedAt, handledAt, isRunning } = latest
  const result = handledAt !== null ? 'handled' : isRunning ? 'running' : 'interrupted'
  const all =
    startedAt === null ? past : [...past, [number, startedAt, handledAt, result, null, null] as const]
  return all.slice(-ATTEMPTS_KEPT).map(attemptOf)
}

function attemptOf([number, startedAt, endedAt, result, code, error]: PastAttempt): Attempt {
  return {
    number,
    startedAt: new Date(startedAt),
    ...(endedAt !== null && { endedAt: new Date(endedAt) }),
    result,
    ...(code !== null && { code }),
    ...(error !== null && { error }),
  }
}
