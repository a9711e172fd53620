import type { EntryId } from '../../callback/callback.js'
import { AskedTypes } from '../handled-types.js'
import { InboxClock } from '../inbox-clock.js'
import type { ClaimEntries, Claims, ClaimToken, SettledClaim } from '../inbox.js'
import { begin, claim, extend, recordTypes, setTimesAnew } from './claim.js'
import { rowId } from './entry-id.js'
import type { InboxDatabase } from './inbox-database.js'
import { settle } from './settle.js'
import type { Transaction } from './transaction.js'

/** What workers do with leases: each operation is a transaction on the connection for leases. */
export class LeaseOperations {
  readonly #database: InboxDatabase
  readonly #schema: string
  readonly #askedTypes = new AskedTypes()
  /** Given the times of the database's clock, to notice when that is set back. */
  readonly #clock: InboxClock
  #databaseNow = 0

  constructor(database: InboxDatabase, schema: string) {
    this.#database = database
    this.#schema = schema
    this.#clock = new InboxClock(() => this.#databaseNow)
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    const { claims, steps, aheadMs } = await this.#run(async (tx) => {
      const steps = this.#clock.unhandledSteps
      const aheadMs = steps === 0 ? 0 : await setTimesAnew(tx)
      await recordTypes(tx, request, this.#askedTypes)
      return { claims: await claim(tx, request), steps, aheadMs }
    })
    this.#askedTypes.recorded(request.eventTypes, this.#databaseNow)
    // Only after the commit, because the transaction may have been rolled back and run again.
    return steps === 0 ? claims : { ...claims, clockSetBackMs: this.#clock.handled(steps, aheadMs) }
  }

  begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#run((tx) => begin(tx, claims.filter(hasRowId), leaseMs))
  }

  extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#run((tx) => extend(tx, claims.filter(hasRowId), leaseMs))
  }

  /** Resolves to the ids of those that were held, and whether another entry is due now. */
  settle(ends: readonly SettledClaim[]): Promise<{ held: ReadonlySet<EntryId>; isAnyDue: boolean }> {
    const possible = ends.filter((each) => hasRowId(each.claim))
    return this.#run((tx) => settle(tx, possible, this.#schema))
  }

  #run<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.lease((tx) => {
      this.#databaseNow = tx.now
      this.#clock.now()
      return work(tx)
    })
  }
}

function hasRowId({ id }: ClaimToken): boolean {
  return rowId(id) !== undefined
}
