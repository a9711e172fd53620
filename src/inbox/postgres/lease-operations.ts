import type { Environment } from '../../base/environment.js'
import { StepsAhead } from '../../base/steps-ahead.js'
import type { EntryId } from '../../callback/callback.js'
import type { Logger } from '../../logging/logger.js'
import { AskedTypes } from '../handled-types.js'
import { InboxClock } from '../inbox-clock.js'
import type { ClaimEnd, ClaimEntries, Claims, ClaimToken, SettledClaim } from '../engine.js'
import type { Timed } from './call-lease-function.js'
import { claim, recordTypes, renew, requeueUnhandled, setTimesAnew } from './claim.js'
import { rowId } from './entry-id.js'
import type { InboxDatabase } from './inbox-database.js'
import { InterruptedSince } from './interrupted-since.js'
import type { PostgresInboxSettings } from './options.js'
import { recordedBefore, settle } from './settle.js'
import type { Transaction, TransactionSettings } from './transaction.js'

/** What workers do with leases: each operation is a transaction of its own on the connection for leases. */
export class LeaseOperations {
  readonly #database: InboxDatabase
  readonly #schema: string
  readonly #logger: Logger
  readonly #askedTypes = new AskedTypes()
  /** Given the times of the database's clock, to notice when that is set back. */
  readonly #clock: InboxClock
  /** Claims whose end may have been recorded although the call was rejected, for example because its answer was lost. */
  readonly #maybeEnded = new WeakMap<ClaimToken, ClaimEnd['move']>()
  #databaseNow = 0
  readonly #interruptedSince = new InterruptedSince()
  readonly #environment: Environment
  readonly #steps: StepsAhead
  /** No interrupted entry is claimed before this time, by the monotonic clock of this process. */
  #noInterruptedUntil = -Infinity

  constructor(database: InboxDatabase, { schema, logger, environment }: PostgresInboxSettings) {
    this.#database = database
    this.#schema = schema
    this.#logger = logger
    this.#environment = environment
    this.#steps = new StepsAhead(environment)
    this.#clock = new InboxClock(() => this.#databaseNow)
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    const { clockSetBackMs, continues } = await this.#prepare(request)
    if (request.interrupted && this.#mustWait(request)) return { entries: [], interruptedIsDue: false }
    const since = this.#interruptedSince.of(request, this.#databaseNow)
    const { isAhead, noneIsInterrupted, ...found } = await this.#call((all, settings) =>
      claim(all, request, since, settings),
    )
    if (noneIsInterrupted) this.#interruptedSince.foundNone(this.#databaseNow)
    // The clock was ahead between two calls of this process.
    if (isAhead) this.#clock.isBehind()
    const claims = { ...found, interruptedIsDue: found.interruptedIsDue && !this.#mustWait(request) }
    // If the clock has just been set back, entries that are due do not seem to be.
    const isLate = this.#clock.unhandledSteps > 0 && claims.entries.length === 0
    if (isLate && !continues) return this.claim(request)
    return {
      ...claims,
      ...(clockSetBackMs !== undefined && { clockSetBackMs }),
      ...((continues || isAhead) && { nextDueInMs: 0 }),
    }
  }

  renew(
    how: 'begin' | 'extend',
    claims: readonly ClaimToken[],
    leaseMs: number,
  ): Promise<ReadonlySet<EntryId>> {
    const askedAt = this.#environment.monotonic()
    return this.#database.lease((tx) => {
      this.#learnNow(tx.now, askedAt)
      return renew(tx, how, claims.filter(hasRowId), leaseMs)
    })
  }

  /**
   * Resolves to the ids of those that were held, and whether another entry is due now. A claim counts as held if a call before
   * has recorded the same end of it and was rejected.
   */
  async settle(ends: readonly SettledClaim[]): Promise<{ held: ReadonlySet<EntryId>; isAnyDue: boolean }> {
    const possible = ends.filter((each) => hasRowId(each.claim))
    try {
      const settled = await this.#call((all, settings) => settle(all, possible, settings))
      const repeated = possible.filter(
        ({ claim, end }) => !settled.held.has(claim.id) && this.#maybeEnded.get(claim) === end.move,
      )
      if (repeated.length === 0) return settled
      const before = await this.#database.lease((tx) => recordedBefore(tx, repeated))
      return { held: new Set([...settled.held, ...before]), isAnyDue: settled.isAnyDue || before.length > 0 }
    } catch (error) {
      for (const { claim, end } of possible) this.#maybeEnded.set(claim, end.move)
      throw error
    }
  }

  /**
   * If the clock of the database was set ahead, the leases of handlers that are running seem to have ended. Their workers get the
   * time to renew them. Otherwise the same entry could be handled twice at the same time.
   */
  #mustWait({ leaseMs }: ClaimEntries): boolean {
    const stepMs = this.#steps.take()
    // Leases are renewed when two thirds are left: a smaller step ends none.
    if (stepMs >= leaseMs / 3) {
      this.#noInterruptedUntil = this.#environment.monotonic() + leaseMs
      const fields = { code: 'WARN_CLOCK_STEPPED', stepMs: Math.round(stepMs) }
      this.#logger.warn(fields, 'the clock of the database was set ahead: leases may be renewed first')
    }
    return this.#environment.monotonic() < this.#noInterruptedUntil
  }

  /**
   * What a claim needs once in a while: times that were set by a clock that was ahead are corrected, the types that are
   * asked for are recorded, and what no worker has a handler for any more is stored again. Before a claim of interrupted entries,
   * the clock is looked at. Resolves to by how much the clock was set back, if that is to be reported, and to whether the next
   * claim continues to correct times.
   */
  async #prepare({ eventTypes, interrupted }: ClaimEntries): Promise<Prepared> {
    const isNeeded =
      interrupted ||
      this.#clock.unhandledSteps > 0 ||
      this.#askedTypes.toRecord(eventTypes, this.#databaseNow).length > 0
    if (!isNeeded) return NOTHING_PREPARED
    const askedAt = this.#environment.monotonic()
    const { steps, correction, types } = await this.#database.lease(async (tx) => {
      this.#learnNow(tx.now, askedAt)
      const steps = this.#clock.unhandledSteps
      const correction = steps === 0 ? undefined : await setTimesAnew(tx, this.#clock.continuesAt(steps))
      const types = this.#askedTypes.toRecord(eventTypes, tx.now)
      await recordTypes(tx, types)
      if (types.length > 0 && this.#askedTypes.wereRecordedLately(eventTypes, tx.now))
        await requeueUnhandled(tx, this.#schema)
      return { steps, correction, types }
    })
    // Only after the commit, because the transaction may have been rolled back and run again.
    if (types.length > 0) this.#askedTypes.recorded(eventTypes, this.#databaseNow)
    if (!correction) return NOTHING_PREPARED
    const clockSetBackMs = this.#clock.handled(steps, correction)
    return { clockSetBackMs, continues: correction.next !== undefined }
  }

  async #call<Result>(
    work: (all: Transaction['all'], settings: TransactionSettings) => Promise<Timed<Result> | undefined>,
  ): Promise<Result> {
    const askedAt = this.#environment.monotonic()
    const { now, result } = await this.#database.leaseFunction(work)
    this.#learnNow(now, askedAt)
    return result
  }

  /** To be called when an operator has made a decision. */
  decided(): void {
    this.#interruptedSince.startAgain()
  }

  #learnNow(now: number, askedAt: number): void {
    if (now < this.#databaseNow) this.#interruptedSince.startAgain()
    this.#databaseNow = now
    this.#steps.learn(now, askedAt)
    this.#clock.now()
  }
}

interface Prepared {
  readonly clockSetBackMs: number | undefined
  readonly continues: boolean
}

const NOTHING_PREPARED: Prepared = { clockSetBackMs: undefined, continues: false }

function hasRowId({ id }: ClaimToken): boolean {
  return rowId(id) !== undefined
}
