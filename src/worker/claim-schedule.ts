import type { Claims } from '../inbox/inbox.js'

/** What to ask an inbox for. */
export interface ClaimPlan {
  readonly limit: number
  readonly interrupted: boolean
}

/**
 * Decides what a worker claims next, and whether an entry may be handled without a claim as it arrives.
 *
 * An interrupted entry may have killed its process. Therefore the worker handles it alone, so that no other entry is interrupted with
 * it. Claims of interrupted entries alternate with claims of all others, so that neither has to wait for ever.
 */
export class ClaimSchedule {
  #interruptedIsNext = false
  /** Whether an interrupted entry is running. */
  #isAlone = false
  /** How many entries wait for a claim. Undefined if it is not known. */
  #waiting: number | undefined
  /** How many were stored since the claim that is under way began. Undefined if others may have become due. */
  #storedSince: number | undefined
  /** The limit of the claim that is under way, whose entries are not running yet. */
  #claiming = 0

  /** Whether a claim would find nothing, as far as it is known. */
  get nothingWaits(): boolean {
    return this.#waiting === 0 && this.#claiming === 0
  }

  /** To be called when an entry was stored that waits for a claim. */
  stored(): void {
    if (this.#waiting !== undefined) this.#waiting++
    if (this.#storedSince !== undefined) this.#storedSince++
  }

  /** To be called when any number of entries may have become due. */
  othersMayBeDue(): void {
    this.#waiting = undefined
    this.#storedSince = undefined
  }

  /** Whether some wait, and it is known how many. */
  get isCounting(): boolean {
    return this.#waiting !== undefined && this.#waiting > 0
  }

  /**
   * Whether an entry that arrives may be handled beside those that are running. Those that wait for a claim come before it. If none
   * waits, those of the running ones whose handlers have ended, and whose end is being recorded, take no slot, up to `concurrency` of
   * them.
   */
  hasRoom(running: number, recording: number, concurrency: number): boolean {
    if (this.#waiting === undefined || this.#interruptedIsNext || (this.#isAlone && running > 0)) return false
    const first = this.#waiting + this.#claiming
    return running - (first > 0 ? 0 : Math.min(recording, concurrency)) + first < concurrency
  }

  /**
   * What to claim while `running` entries of at most `concurrency` are running; undefined if one of them has to end first. With
   * `leavesRoom` the slots that are not needed for what waits stay free for what arrives meanwhile.
   */
  next(running: number, concurrency: number, leavesRoom: boolean): ClaimPlan | undefined {
    if (running === 0) this.#isAlone = false
    if (this.#isAlone) return undefined
    if (this.#interruptedIsNext)
      return running === 0 ? this.#begin({ interrupted: true, limit: 1 }) : undefined
    const room = concurrency - running
    if (room <= 0) return undefined
    // With one more than those that wait, the inbox says whether these are all.
    const limit = leavesRoom && this.#waiting !== undefined ? Math.min(room, this.#waiting + 1) : room
    return this.#begin({ interrupted: false, limit })
  }

  claimed(
    { interrupted }: ClaimPlan,
    { entries, interruptedIsDue }: Claims,
    nothingElseIsDue: boolean,
  ): void {
    this.#isAlone = interrupted && entries.length > 0
    this.#interruptedIsNext = !interrupted && interruptedIsDue
    this.#waiting = nothingElseIsDue ? this.#storedSince : undefined
  }

  /** To be called once the entries of a claim are running, or the claim has failed. */
  taken(): void {
    this.#claiming = 0
  }

  #begin(plan: ClaimPlan): ClaimPlan {
    this.#claiming = plan.limit
    if (this.#waiting !== undefined) this.#waiting = 0
    this.#storedSince = 0
    return plan
  }
}
