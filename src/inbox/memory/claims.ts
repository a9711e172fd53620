import { copyOfCallback } from '../../callback/copy-of-callback.js'
import type { ClaimedEntry, ClaimEntries, Claims, ClaimToken, SettledClaim, ClaimEnd } from '../engine.js'
import { MOVES } from '../states.js'
import type { MemoryEntries } from './entries.js'
import type { MemoryEntry } from './memory-entry.js'
import { setDue } from './unfinished-entries.js'
import { ATTEMPT_RESULT, ATTEMPTS_KEPT } from '../attempt-history.js'
import type { Attempt } from '../operations.js'

export function claim(
  { unfinished }: MemoryEntries,
  { eventTypes, limit, leaseMs, interrupted = false, beginBelow = 0 }: ClaimEntries,
  now: number,
): Claims {
  const ready = unfinished.ready(eventTypes)
  const wanted = ready.filter((entry) => isInterrupted(entry) === interrupted)
  const due = wanted
    .filter(({ dueAt }) => dueAt! <= now)
    .sort((a, b) => a.dueAt! - b.dueAt! || a.sequence - b.sequence)
  const moreIsDue = due.length > limit
  const entries = due.slice(0, limit).map((entry) => {
    const begun = !interrupted && entry.attempts < beginBelow
    const claimed = claimEntry(entry, leaseMs, now)
    if (begun) beginAttempt(entry, now)
    return { ...claimed, begun }
  })
  const next = Math.min(
    ...wanted.filter((entry) => isInterrupted(entry) === interrupted).map(({ dueAt }) => dueAt!),
  )
  return {
    entries,
    moreIsDue,
    nextDueInMs: !moreIsDue && next < Infinity ? next - now : undefined,
    interruptedIsDue: ready.some((entry) => isInterrupted(entry) && entry.dueAt! <= now),
  }
}

export function claimEntry(entry: MemoryEntry, leaseMs: number, now: number): ClaimedEntry {
  entry.state = MOVES.claim.to
  entry.token++
  setDue(entry, now, leaseMs)
  attemptWasInterrupted(entry)
  const { id, token, callback, attempts, replayed } = entry
  const isOrdered = entry.orderKey !== undefined
  return { id, token, callback: copyOfCallback(callback), attempt: attempts + 1, replayed, isOrdered }
}

/** Renews the claims that are still held, and counts the attempts that begin. Returns the entries. */
export function begin(
  entries: MemoryEntries,
  claims: readonly ClaimToken[],
  leaseMs: number,
  now: number,
): MemoryEntry[] {
  const begun = extend(entries, claims, leaseMs, now)
  for (const entry of begun) if (entry.begunBy !== entry.token) beginAttempt(entry, now)
  return begun
}

function beginAttempt(entry: MemoryEntry, now: number): void {
  entry.attempts++
  entry.begunBy = entry.token
  attemptBegan(entry, now)
}

/** Renews the claims that are still held. Returns the entries. */
export function extend(
  entries: MemoryEntries,
  claims: readonly ClaimToken[],
  leaseMs: number,
  now: number,
): MemoryEntry[] {
  const renewed = claims.map((claim) => held(entries, claim)).filter((entry) => entry !== undefined)
  for (const entry of renewed) setDue(entry, now, leaseMs)
  return renewed
}

/** Records the end of a claim. Returns the entry, or undefined if the claim was lost. */
export function settle(
  entries: MemoryEntries,
  { claim, end }: SettledClaim,
  now: number,
): MemoryEntry | undefined {
  const entry = held(entries, claim)
  if (!entry) return undefined
  const { move } = end
  if (entry.begunBy === entry.token) attemptEnded(entry, end, now)
  entry.state = MOVES[move].to
  if ('error' in end) entry.reason = end.error
  if (move === 'complete') entry.reason = undefined
  if (move === 'handBack') {
    if (entry.begunBy === entry.token) entry.attempts--
    // `begunBy` stays: an entry that was interrupted before is still to be handled alone.
  } else {
    entry.begunBy = undefined
  }
  if (move === 'reschedule') entries.unfinished.makeDue(entry, now, end.delayMs)
  else if (move === 'handBack') entries.unfinished.makeDue(entry, now)
  else entries.end(entry, now)
  return entry
}

/**
 * Stores again what no worker has a handler for any more, if its lease has ended. Otherwise it would be running as long as there
 * is no handler: operators cannot discard what is running, and the next entries of its order key would wait.
 */
export function requeueUnhandled(entries: MemoryEntries, now: number): void {
  const handled = entries.handledTypes()
  if (handled === 'any') return
  for (const entry of entries.unfinished.ready('any')) {
    if (entry.state !== 'running' || entry.dueAt! > now || handled.has(entry.callback.type)) continue
    attemptWasInterrupted(entry)
    entry.state = MOVES.requeue.to
    entries.unfinished.makeDue(entry, now)
  }
}

/** Corrects all times after the clock was set back. Returns how far ahead of the clock the latest due time was, in milliseconds. */
export function setTimesAnew({ all, typesSeenAt, unfinished }: MemoryEntries, now: number): number {
  for (const entry of all.values())
    if (entry.finishedAt !== undefined) entry.finishedAt = Math.min(entry.finishedAt, now)
  for (const [type, seenAt] of typesSeenAt) typesSeenAt.set(type, Math.min(seenAt, now))
  return unfinished.setTimesAnew(now)
}

function held({ all }: MemoryEntries, { id, token }: ClaimToken): MemoryEntry | undefined {
  const entry = all.get(id)
  return entry?.state === 'running' && entry.token === token ? entry : undefined
}

function isInterrupted({ begunBy }: MemoryEntry): boolean {
  return begunBy !== undefined
}

/** Records that an attempt begins. Its number continues as in `attemptsOf`. */
function attemptBegan({ attemptHistory }: MemoryEntry, now: number): void {
  const { number, result } = attemptHistory.at(-1) ?? { number: 0, result: undefined }
  const next = result === 'handedBack' ? number : number + 1
  attemptHistory.push({ number: next, startedAt: new Date(now), result: 'running' })
  if (attemptHistory.length > ATTEMPTS_KEPT) attemptHistory.shift()
}

/** Records how an attempt ended that is running; otherwise nothing. */
function attemptEnded({ attemptHistory }: MemoryEntry, end: ClaimEnd, now: number): void {
  endLatest(attemptHistory, {
    endedAt: new Date(now),
    result: ATTEMPT_RESULT[end.move],
    ...('error' in end && { error: end.error, ...(end.code !== undefined && { code: end.code }) }),
  })
}

/** Records that another claim, or the end of one whose handlers did not begin, shows that the attempt has no end. */
function attemptWasInterrupted({ attemptHistory }: MemoryEntry): void {
  endLatest(attemptHistory, { result: 'interrupted' })
}

function endLatest(attempts: Attempt[], end: Omit<Attempt, 'number' | 'startedAt'>): void {
  const latest = attempts.at(-1)
  if (latest?.result === 'running') attempts[attempts.length - 1] = { ...latest, ...end }
}
