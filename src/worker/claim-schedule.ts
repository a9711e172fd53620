import type { Claims } from '../inbox/inbox.js'

/** What to ask an inbox for. */
export interface ClaimPlan {
  readonly limit: number
  readonly interrupted: boolean
}

/**
 * Decides what a worker claims next. An interrupted entry may have killed its process. Therefore the worker handles it alone, so
 * that no other entry is interrupted with it. Claims of interrupted entries alternate with claims of all others, so that neither
 * has to wait for ever.
 */
export class ClaimSchedule {
  #interruptedIsNext = false
  /** Whether an interrupted entry is running. */
  #isAlone = false

  /** What to claim while `running` entries of at most `concurrency` are running; undefined if one of them has to end first. */
  next(running: number, concurrency: number): ClaimPlan | undefined {
    if (running === 0) this.#isAlone = false
    if (this.#isAlone) return undefined
    if (this.#interruptedIsNext) return running === 0 ? { interrupted: true, limit: 1 } : undefined
    const limit = concurrency - running
    return limit > 0 ? { interrupted: false, limit } : undefined
  }

  /** Whether an entry that was not interrupted may be handled beside those that are running. */
  hasRoom(running: number, concurrency: number): boolean {
    if (this.#interruptedIsNext || (this.#isAlone && running > 0)) return false
    return running < concurrency
  }

  claimed({ interrupted }: ClaimPlan, { entries, interruptedIsDue }: Claims): void {
    this.#isAlone = interrupted && entries.length > 0
    this.#interruptedIsNext = !interrupted && interruptedIsDue
  }
}
