import type { ClaimEntries } from '../engine.js'

/**
 * From which due time on a claim looks for interrupted entries, by the clock of the database. What the claims before have looked through
 * is left out: while somebody holds a snapshot, it has a dead row for each entry that was handled.
 *
 * An entry may be due there that these claims have not seen, if a transaction that was committed later has set its due time. Therefore a
 * claim looks from the start once in a tenth of a lease.
 */
export class InterruptedSince {
  #types = ''
  #from = 0
  #wholeUntil = 0

  /** `now`: of the latest call. */
  of({ eventTypes, leaseMs }: ClaimEntries, now: number): number {
    const types = JSON.stringify(eventTypes)
    if (types === this.#types && now < this.#wholeUntil) return this.#from
    this.#types = types
    this.#from = 0
    this.#wholeUntil = now + leaseMs / 10
    return 0
  }

  /** To be called after the claim, with the time that it has looked up to, if it has found none. */
  foundNone(until: number): void {
    this.#from = until
  }

  /** To be called when one may have become due in the past: the clock was set back, or an operator has made a decision. */
  startAgain(): void {
    this.#wholeUntil = 0
  }
}
