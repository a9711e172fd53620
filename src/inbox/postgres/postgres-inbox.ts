import type { EntryId } from '../../callback/callback.js'
import type { ActivityBucket, ActivityRequest } from '../activity.js'
import { AskedTypes } from '../handled-types.js'
import type {
  AddResult,
  Arrival,
  ClaimEnd,
  ClaimEntries,
  Claims,
  ClaimToken,
  PruneEntries,
  SettledClaim,
  TransactionalInbox,
  TransactOptions,
} from '../inbox.js'
import type {
  ActOptions,
  ActResult,
  CompleteInbox,
  Entry,
  EntryCount,
  EntryFilter,
  EntryPage,
  EntrySearch,
  EntrySummary,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from '../operations.js'
import { InboxClock } from '../inbox-clock.js'
import { decisionOf } from '../operator-action.js'
import { countInSteps, searchInSteps } from '../search.js'
import { act, ActRefused } from './act.js'
import { activity } from './activity.js'
import { addAll } from './add.js'
import { Batches } from './batches.js'
import { begin, claim, extend, recordTypes, setTimesAnew } from './claim.js'
import { Connections, type Connection } from './connections.js'
import { warnIfNotDurable } from './durability.js'
import { rowId } from './entry-id.js'
import { closedError, inboxError, isFault } from './inbox-error.js'
import { LeaseConnection } from './lease-connection.js'
import { list, related, show, stats } from './look.js'
import { Announcements, DueListener } from './notifications.js'
import {
  parsePostgresInboxOptions,
  type PostgresInboxOptions,
  type PostgresInboxSettings,
} from './options.js'
import { prune } from './prune.js'
import { migrate } from './schema.js'
import { countStep, EXAMINED_BY_STEP, searchStep } from './search.js'
import { settle } from './settle.js'
import type { PostgresTransaction } from './guarded-transaction.js'
import { transact } from './transact.js'
import { TransactionPlaces } from './transaction-places.js'
import { retryConflicts, transaction, type Transaction } from './transaction.js'

/**
 * An inbox in a PostgreSQL database, for any number of processes on any number of machines. All arrivals of one tick of the
 * event loop are committed together. The clock of the database is the only one.
 *
 * Rejects with a `CountersignError` that says what is wrong and how to cure it: `ERR_INBOX_BUSY`, `ERR_INBOX_UNREACHABLE`,
 * `ERR_INBOX_READ_ONLY`, `ERR_INBOX_FULL`, `ERR_INBOX_FORBIDDEN`, `ERR_INBOX_NEWER`, `ERR_INBOX_CORRUPT`. Once the cause is
 * gone, the inbox continues without a restart.
 */
export class PostgresInbox implements CompleteInbox, TransactionalInbox<PostgresTransaction> {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  /** How many transactional handlers can run at once: 4 fewer than there are connections, but at least 1. */
  readonly maxTransactions: number | undefined
  readonly #schema: string
  readonly #settings: PostgresInboxSettings
  readonly #connections: Connections
  readonly #leases: LeaseConnection
  readonly #listener: DueListener
  readonly #announcements: Announcements
  readonly #arrivals: Batches<Arrival, AddResult>
  readonly #places: TransactionPlaces
  readonly #askedTypes = new AskedTypes()
  /** Given the times of the database's clock, to notice when that is set back. */
  readonly #clock: InboxClock
  #databaseNow = 0
  #ready: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: PostgresInboxOptions) {
    const settings = parsePostgresInboxOptions(options)
    this.retentionMs = settings.retentionMs
    this.discardedRetentionMs = settings.discardedRetentionMs
    this.maxTransactions = settings.maxTransactions
    this.#settings = settings
    this.#schema = settings.schema
    this.#places = new TransactionPlaces(settings.maxTransactions ?? Infinity)
    this.#connections = new Connections(settings)
    this.#leases = new LeaseConnection(this.#connections)
    this.#listener = new DueListener(this.#connections)
    this.#announcements = new Announcements(this.#connections)
    this.#clock = new InboxClock(() => this.#databaseNow)
    this.#arrivals = new Batches({
      run: (arrivals) => this.#addAll(arrivals),
      isFault,
      bytesOf: ({ callback }) => callback.rawBody.length,
      orderOf: ({ orderKey }) => orderKey,
    })
  }

  /** Brings the schema up to date, which needs a role that may do so. */
  async open(): Promise<void> {
    this.#checkNotClosed()
    await this.#makeReady()
  }

  async add(arrival: Arrival): Promise<AddResult> {
    this.#checkNotClosed()
    return this.#arrivals.add(arrival)
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    const { claims, steps, aheadMs } = await this.#lease(async (tx) => {
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
    return this.#lease((tx) => begin(tx, claims.filter(hasRowId), leaseMs))
  }

  extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#lease((tx) => extend(tx, claims.filter(hasRowId), leaseMs))
  }

  async settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>> {
    const possible = ends.filter((each) => hasRowId(each.claim))
    const { held, isAnyDue } = await this.#lease((tx) => settle(tx, possible, this.#schema))
    if (isAnyDue) this.#announcements.announce()
    return held
  }

  stats(): Promise<InboxStats> {
    return this.#transaction(stats)
  }

  list(filter: EntryFilter, page?: EntryPage): Promise<EntrySummary[]> {
    return this.#transaction((tx) => list(tx, filter, page))
  }

  search(filter: EntryFilter, page: EntryPage = {}): Promise<EntrySearch> {
    return this.#transaction((tx) => {
      const step = (afterId: EntryId | undefined, limit: number) =>
        searchStep(tx, filter, { ...page, afterId, limit })
      return searchInSteps(page, step, EXAMINED_BY_STEP)
    })
  }

  count(filter: EntryFilter, max: number): Promise<EntryCount> {
    return this.#transaction((tx) =>
      countInSteps(max, (afterId) => countStep(tx, filter, afterId), EXAMINED_BY_STEP),
    )
  }

  activity(request: ActivityRequest): Promise<readonly ActivityBucket[]> {
    return this.#transaction((tx) => activity(tx, request))
  }

  show(id: EntryId): Promise<Entry | undefined> {
    return this.#transaction((tx) => show(tx, id))
  }

  related(id: EntryId): Promise<RelatedEntry[]> {
    return this.#transaction((tx) => related(tx, id))
  }

  async act(id: EntryId, action: OperatorAction, by: string, options?: ActOptions): Promise<ActResult> {
    const decision = decisionOf(by, options)
    try {
      const result = await this.#transaction((tx) => act(tx, id, action, decision, this.#schema))
      if (action !== 'discard' && result.done) this.#announcements.announce()
      return result
    } catch (error) {
      if (error instanceof ActRefused) return error.refusal
      throw error
    }
  }

  prune(request: PruneEntries): Promise<number> {
    return this.#transaction((tx) => prune(tx, request, this))
  }

  /** By LISTEN. Nothing comes through PgBouncer in transaction mode. */
  watch(onDue: () => void): () => void {
    return this.#listener.watch(onDue)
  }

  async transact(
    claimed: ClaimToken,
    options: TransactOptions,
    work: (transaction: PostgresTransaction) => Promise<ClaimEnd>,
  ): Promise<'committed' | 'lost'> {
    await this.open()
    const run = () => transact(this.#connections, claimed, options, work)
    const result = await this.#places.run(run, this.#settings)
    this.#announcements.announce()
    if (typeof result === 'string') return result
    const held = await this.settle([{ claim: claimed, end: result.recordAlone }])
    return held.has(claimed.id) ? 'committed' : 'lost'
  }

  /** What was asked for before is still done. A pool of your own stays open. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#listener.close()
    await this.#arrivals.idle()
    await this.#announcements.idle()
    await this.#leases.close()
    await this.#connections.close()
  }

  #checkNotClosed(): void {
    if (this.#closed) throw closedError(this.#schema)
  }

  /** Safe to call twice, and again after it failed: the reason may be gone. */
  #makeReady(): Promise<void> {
    return (this.#ready ??= this.#migrate().catch((error: unknown) => {
      this.#ready = undefined
      throw inboxError(error, this.#schema)
    }))
  }

  async #migrate(): Promise<void> {
    await this.#leases.run(async (connection) => {
      try {
        await migrate(connection, this.#schema)
        await warnIfNotDurable(connection, this.#settings.logger)
      } catch (error) {
        const reason = inboxError(connection.lost() ?? error, this.#schema)
        connection.destroy()
        throw reason
      }
    })
  }

  async #addAll(arrivals: readonly Arrival[]): Promise<readonly AddResult[]> {
    const { results, isAnyDue } = await this.#commit((tx) => addAll(tx, arrivals, this.#schema))
    if (isAnyDue) this.#announcements.announce()
    return results
  }

  async #transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    this.#checkNotClosed()
    return this.#commit(work)
  }

  /** On a connection of the pool. */
  async #commit<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    await this.#makeReady()
    return retryConflicts(async () => {
      const connection = await this.#acquire()
      try {
        return await transaction(connection, this.#settings, work)
      } finally {
        connection.release()
      }
    })
  }

  /** On the connection for leases. */
  async #lease<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    this.#checkNotClosed()
    await this.#makeReady()
    const lockTimeoutMs = Math.min(this.#settings.busyTimeoutMs, LEASE_LOCK_TIMEOUT_MS)
    const settings = { ...this.#settings, lockTimeoutMs }
    const attempt = () =>
      this.#leases.run((connection) =>
        transaction(connection, settings, (tx) => {
          this.#databaseNow = tx.now
          this.#clock.now()
          return work(tx)
        }),
      )
    try {
      return await retryConflicts(attempt)
    } catch (error) {
      throw inboxError(error, this.#schema)
    }
  }

  async #acquire(): Promise<Connection> {
    try {
      return await this.#connections.acquire()
    } catch (error) {
      throw inboxError(error, this.#schema)
    }
  }
}

/** Shorter than for callbacks: what waits for a lock here holds up every other entry of the worker. */
const LEASE_LOCK_TIMEOUT_MS = 500

function hasRowId({ id }: ClaimToken): boolean {
  return rowId(id) !== undefined
}
