import type { Claims } from '../inbox/inbox.js'

/** What to ask an inbox for. */
export interface Turn {
  readonly limit: number
  readonly interrupted: boolean
}

/**
 * Decides what a worker claims next. An interrupted entry may be what killed its process. It is therefore handled with
 * nothing beside it, so that it can take no other entry with it. Interrupted entries alternate with claims of all others,
 * so that neither waits for ever for the other.
 */
export class ClaimTurns {
  readonly #concurrency: number
  #interruptedIsNext = false
  /** Whether what runs is an interrupted entry. */
  #isAlone = false

  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** What may be claimed while so many entries are running, or undefined while one of them has to end first. */
  next(running: number): Turn | undefined {
    if (running === 0) this.#isAlone = false
    if (this.#isAlone) return undefined
    if (this.#interruptedIsNext) return running === 0 ? { interrupted: true, limit: 1 } : undefined
    const limit = this.#concurrency - running
    return limit > 0 ? { interrupted: false, limit } : undefined
  }

  claimed({ interrupted }: Turn, { entries, interruptedIsDue }: Claims): void {
    this.#isAlone = interrupted && entries.length > 0
    this.#interruptedIsNext = !interrupted && interruptedIsDue
  }
}
