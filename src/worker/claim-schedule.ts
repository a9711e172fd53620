import type { Claims } from '../inbox/engine.js'

/** What to ask an inbox for. */
export interface ClaimPlan {
  readonly limit: number
  readonly interrupted: boolean
}

/** The slots of a worker. */
export interface Slots {
  /** How many entries are running, or are about to run. */
  readonly running: number
  /** Of how many of them the handlers have ended, and the end is being recorded. */
  readonly recording: number
  readonly concurrency: number
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

  /** Whether, as far as it is known, a claim would find nothing, and no claim that takes entries is under way. */
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

  /**
   * An entry whose end is being recorded takes no slot, because its handlers do not run any more. This applies to up to `concurrency`
   * entries. There may be a backlog while the number of those that wait is not known. Then the entry takes a slot: otherwise
   * transactions have claims as well as ends, which doubled the time until an answer.
   */
  freeSlots({ running, recording, concurrency }: Slots): number {
    const mayBeBacklog = this.#waiting === undefined
    return concurrency - running + (mayBeBacklog ? 0 : Math.min(recording, concurrency))
  }

  /** Whether there is a slot for an entry that arrives. Those that wait for a claim come before it. */
  hasRoom(slots: Slots): boolean {
    if (this.#waiting === undefined || this.#interruptedIsNext || (this.#isAlone && slots.running > 0))
      return false
    return this.#waiting + this.#claiming < this.freeSlots(slots)
  }

  /**
   * What to claim now; undefined if a running entry has to end first. With `leavesRoom` the slots that are not needed for what waits
   * stay free for what arrives meanwhile.
   */
  next(slots: Slots, leavesRoom: boolean): ClaimPlan | undefined {
    if (slots.running === 0) this.#isAlone = false
    if (this.#isAlone) return undefined
    if (this.#interruptedIsNext)
      return slots.running === 0 ? this.#begin({ interrupted: true, limit: 1 }) : undefined
    const room = this.freeSlots(slots)
    // To ask whether others are due takes no slot. Otherwise these could wait for ever while arrivals use all slots.
    if (this.#waiting === 0 && (leavesRoom || room <= 0)) return this.#begin({ interrupted: false, limit: 0 })
    if (room <= 0) return undefined
    const limit = leavesRoom && this.#waiting !== undefined ? Math.min(room, this.#waiting) : room
    return this.#begin({ interrupted: false, limit })
  }

  claimed(
    { interrupted, limit }: ClaimPlan,
    { entries, interruptedIsDue }: Claims,
    nothingElseIsDue: boolean,
  ): void {
    this.#isAlone = interrupted && entries.length > 0
    this.#interruptedIsNext = !interrupted && interruptedIsDue
    if (nothingElseIsDue) this.#waiting = this.#storedSince
    // The claim asked for all that were known to wait, or it found fewer. How many others wait is not known.
    else if (interrupted || this.#waiting === this.#storedSince || entries.length < limit)
      this.#waiting = undefined
  }

  /** To be called once the entries of a claim are running, or the claim has failed. */
  taken(): void {
    this.#claiming = 0
  }

  #begin(plan: ClaimPlan): ClaimPlan {
    this.#claiming = plan.limit
    if (this.#waiting !== undefined) this.#waiting = Math.max(this.#waiting - plan.limit, 0)
    this.#storedSince = 0
    return plan
  }
}
