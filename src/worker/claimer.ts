import { withTimeout } from '../base/timeout.js'
import { ClaimTurns, type Turn } from './claim-turns.js'
import { ClockWatch } from './clock-watch.js'
import type { ClaimedEntry, Claims } from '../inbox/inbox.js'
import type { WorkerParts } from './worker.js'

export interface Claimed {
  readonly entries: readonly ClaimedEntry[]
  /** When their leases end, by this process's monotonic clock, and never later than the inbox has it. */
  readonly leaseEndsAt: number
  /** When to claim again, in milliseconds, unless something is stored or an entry ends before. */
  readonly waitMs: number
}

/** Claims entries for a worker, and says when to claim the next ones. */
export class Claimer {
  readonly #options: WorkerParts
  readonly #turns: ClaimTurns
  readonly #clockWatch: ClockWatch
  /** Until then no interrupted entry is claimed, by the monotonic clock. */
  #sparesUntil = -Infinity

  constructor(options: WorkerParts) {
    this.#options = options
    this.#turns = new ClaimTurns(options.concurrency)
    this.#clockWatch = new ClockWatch(options.clock)
  }

  /** Claims what may begin while so many entries are running. Never rejects. */
  async claim(running: number): Promise<Claimed> {
    const { pollMs, leaseMs } = this.#options
    this.#watchClock()
    const leaseEndsAt = performance.now() + leaseMs
    const turn = this.#turns.next(running)
    const claims = turn && (await this.#claim(turn))
    if (!claims) return { entries: [], leaseEndsAt, waitMs: pollMs }
    const { entries, nextDueInMs = pollMs } = claims
    const interruptedIsDue = claims.interruptedIsDue && performance.now() >= this.#sparesUntil
    this.#turns.claimed(turn, { ...claims, interruptedIsDue })
    // Where one was due and another process took it, to ask again at once would be a busy loop.
    const goesOn = interruptedIsDue && !turn.interrupted && running + entries.length === 0
    return { entries, leaseEndsAt, waitMs: goesOn ? 0 : Math.min(pollMs, Math.max(nextDueInMs, 1)) }
  }

  /** Gives back entries whose handlers have not begun. If that fails, their leases end. */
  handBack(entries: readonly ClaimedEntry[]): void {
    if (entries.length === 0) return
    const ends = entries.map((claim) => ({ claim, end: { move: 'handBack' } }) as const)
    this.#options.inbox.settle(ends).catch(() => {})
  }

  async #claim(turn: Turn): Promise<Claims | undefined> {
    const { inbox, handlers, leaseMs, logger } = this.#options
    let claiming
    try {
      claiming = inbox.claim({ eventTypes: handlers.types, leaseMs, ...turn })
      const claims = await withTimeout(claiming, leaseMs / 2, 'the inbox')
      if (claims.clockSetBackMs !== undefined) this.#warnOfClock(-claims.clockSetBackMs, 'set back')
      return claims
    } catch (error) {
      // An answer that comes too late would keep its entries until their leases run out.
      claiming?.then(
        ({ entries }) => this.handBack(entries),
        () => {},
      )
      const fields = { code: 'ERR_INBOX_UNAVAILABLE', err: error }
      logger.error(fields, 'the worker could not claim entries')
      return undefined
    }
  }

  /**
   * When the clock is set ahead, the leases of handlers that are running in other processes seem to have run out. Those
   * processes get the time to renew them, or the same entry would be handled twice at once.
   */
  #watchClock(): void {
    const { leaseMs } = this.#options
    const aheadMs = this.#clockWatch.aheadMs()
    // Leases are renewed when two thirds are left: a smaller step ends none.
    if (aheadMs < leaseMs / 3) return
    this.#sparesUntil = performance.now() + leaseMs
    this.#warnOfClock(aheadMs, 'set ahead')
  }

  #warnOfClock(stepMs: number, how: 'set back' | 'set ahead'): void {
    const fields = { code: 'WARN_CLOCK_STEPPED', stepMs: Math.round(stepMs) }
    this.#options.logger.warn(fields, `the clock was ${how}: due times and leases have been adapted to it`)
  }
}
