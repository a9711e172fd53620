import { ATTEMPT_RESULT, ATTEMPTS_KEPT } from '../attempt-history.js'
import type { ClaimEnd } from '../engine.js'
import type { Attempt } from '../operations.js'
import type { MemoryEntry } from './memory-entry.js'

/** Records that an attempt begins. Its number continues as in `attemptsOf`. */
export function attemptBegan({ attemptHistory }: MemoryEntry, now: number): void {
  const { number, result } = attemptHistory.at(-1) ?? { number: 0, result: undefined }
  const next = result === 'handedBack' ? number : number + 1
  attemptHistory.push({ number: next, startedAt: new Date(now), result: 'running' })
  if (attemptHistory.length > ATTEMPTS_KEPT) attemptHistory.shift()
}

/** Records how an attempt ended that is running; otherwise nothing. */
export function attemptEnded({ attemptHistory }: MemoryEntry, end: ClaimEnd, now: number): void {
  endLatest(attemptHistory, {
    endedAt: new Date(now),
    result: ATTEMPT_RESULT[end.move],
    ...('error' in end && { error: end.error, ...(end.code !== undefined && { code: end.code }) }),
  })
}

/** Records that another claim, or the end of one whose handlers did not begin, shows that the attempt has no end. */
export function attemptWasInterrupted({ attemptHistory }: MemoryEntry): void {
  endLatest(attemptHistory, { result: 'interrupted' })
}

function endLatest(attempts: Attempt[], end: Omit<Attempt, 'number' | 'startedAt'>): void {
  const latest = attempts.at(-1)
  if (latest?.result === 'running') attempts[attempts.length - 1] = { ...latest, ...end }
}
