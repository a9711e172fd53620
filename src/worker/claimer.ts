import { StepsAhead } from '../base/steps-ahead.js'
import { withTimeout } from '../base/timeout.js'
import { FailureLog } from '../logging/failure-log.js'
import type { ClaimPlan, ClaimSchedule, Slots } from './claim-schedule.js'
import type { ClaimedEntry, Claims } from '../inbox/engine.js'
import type { WorkerParts } from './worker-parts.js'

interface Claimed {
  readonly entries: readonly ClaimedEntry[]
  /** When their leases end, by the monotonic clock of this process; not later than by the clock of the inbox. */
  readonly leaseEndsAt: number
  /** When to claim again, in milliseconds. A stored callback or the end of an entry comes before. */
  readonly waitMs: number
  /** Whether the inbox has said that no other entry is due. */
  readonly nothingElseIsDue: boolean
}

/**
 * After how long a worker without room asks the inbox nevertheless, in milliseconds. Otherwise its types would count as those that no
 * worker has a handler for (`handledTypes`) once its handlers run for more than five minutes.
 */
const ASK_AGAIN_MS = 60_000
const NOTHING: ClaimPlan = { limit: 0, interrupted: false }

/** Claims entries for a worker, and tells when to claim again. */
export class Claimer {
  readonly #options: WorkerParts
  readonly #schedule: ClaimSchedule
  readonly #steps: StepsAhead
  readonly #failures: FailureLog
  /** No interrupted entry is claimed before this time, by the monotonic clock. */
  #noInterruptedUntil = -Infinity
  /** When the inbox was asked last, by the same clock. */
  #askedAt = -Infinity

  constructor(options: WorkerParts, schedule: ClaimSchedule) {
    this.#options = options
    this.#schedule = schedule
    this.#steps = new StepsAhead(options.environment)
    this.#failures = new FailureLog(options.logger, 'the worker could not claim entries')
  }

  /** Claims entries beside those that are running. See `ClaimSchedule` for `leavesRoom`. Never rejects. */
  async claim(slots: () => Slots, leavesRoom: boolean): Promise<Claimed> {
    const { pollMs, leaseMs, environment } = this.#options
    const now = environment.monotonic()
    const leaseEndsAt = now + leaseMs
    const plan = this.#schedule.next(slots(), leavesRoom)
    if (!plan && now - this.#askedAt >= ASK_AGAIN_MS) await this.#claim(NOTHING)
    const claims = plan && (await this.#claim(plan))
    if (plan && !claims) this.#schedule.othersMayBeDue()
    if (!claims) return { entries: [], leaseEndsAt, waitMs: pollMs, nothingElseIsDue: false }
    const { entries, moreIsDue = entries.length >= plan.limit } = claims
    // The inbox may be code of the application. Without a pause, a worker would keep it busy.
    const nextDueInMs = Number.isFinite(claims.nextDueInMs) ? claims.nextDueInMs! : pollMs
    const isAll = !moreIsDue && nextDueInMs > 0
    const nothingElseIsDue = isAll && !claims.interruptedIsDue && !plan.interrupted
    const interruptedIsDue = claims.interruptedIsDue && environment.monotonic() >= this.#noInterruptedUntil
    this.#schedule.claimed(plan, { ...claims, interruptedIsDue }, nothingElseIsDue)
    // Handlers may have ended during the claim.
    const slotsNow = slots()
    const interruptedIsNext = interruptedIsDue && slotsNow.running + entries.length === 0
    const othersAreNext = !isAll && entries.length < this.#schedule.freeSlots(slotsNow)
    // If an entry was due and another process took it, claiming again immediately would be a busy loop.
    const tookNothing = entries.length === 0 && plan.limit > 0
    const claimsAgain = !plan.interrupted && (interruptedIsNext || (othersAreNext && !tookNothing))
    return {
      entries,
      leaseEndsAt,
      waitMs: claimsAgain ? 0 : Math.min(pollMs, Math.max(nextDueInMs, 1)),
      nothingElseIsDue,
    }
  }

  /** Gives back entries whose handlers have not begun. If that fails, their leases end. */
  handBack(entries: readonly ClaimedEntry[]): void {
    if (entries.length === 0) return
    const ends = entries.map((claim) => ({ claim, end: { move: 'handBack' } }) as const)
    this.#options.inbox.settle(ends).catch(() => {})
  }

  async #claim(plan: ClaimPlan): Promise<Claims | undefined> {
    const { inbox, handlers, leaseMs, maxAttempts, logger, environment } = this.#options
    let claiming: Promise<Claims> | undefined
    this.#askedAt = environment.monotonic()
    try {
      this.#watchClock()
      // If the answer of a claim is lost, an attempt counts that was none. The last one must not: the entry would be dead-lettered.
      const beginBelow = maxAttempts - 1
      claiming = inbox.claim({ eventTypes: handlers.types, leaseMs, beginBelow, ...plan })
      const claims = await withTimeout(claiming, leaseMs / 2, 'the inbox', { environment })
      // The inbox may be code of the application.
      if (!Array.isArray(claims.entries))
        throw new TypeError('inbox.claim must resolve to an object with "entries"')
      if (claims.clockSetBackMs !== undefined) this.#warnOfClock(-claims.clockSetBackMs, 'set back')
      const failures = this.#failures.succeeded()
      if (failures > 0) logger.info({ failures }, 'the worker can claim entries again')
      return claims
    } catch (error) {
      // The entries of an answer that comes too late would wait until their leases end.
      Promise.resolve(claiming)
        .then((late) => late && this.handBack(late.entries))
        .catch(() => {})
      this.#failures.failed({ code: 'ERR_INBOX_UNAVAILABLE', err: error })
      return undefined
    }
  }

  /**
   * When the clock is set ahead, the leases of handlers that are running in other processes seem to have ended. Those processes
   * get the time to renew them. Otherwise the same entry could be handled twice at the same time.
   */
  #watchClock(): void {
    const { leaseMs, clock, environment } = this.#options
    this.#steps.learn(clock())
    const aheadMs = this.#steps.take()
    // Leases are renewed when two thirds are left: a smaller step ends none.
    if (aheadMs < leaseMs / 3) return
    this.#noInterruptedUntil = environment.monotonic() + leaseMs
    this.#warnOfClock(aheadMs, 'set ahead')
  }

  #warnOfClock(stepMs: number, how: 'set back' | 'set ahead'): void {
    const fields = { code: 'WARN_CLOCK_STEPPED', stepMs: Math.round(stepMs) }
    this.#options.logger.warn(fields, `the clock was ${how}: due times and leases have been adapted to it`)
  }
}
