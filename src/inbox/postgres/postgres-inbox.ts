import type { EntryId } from '../../callback/callback.js'
import { checkKnownOptions, integerOption, invalidOption, objectOption } from '../../base/option-checks.js'
import { parseUrl } from '../../base/parse-url.js'
import { loggerOption, type Logger } from '../../logging/logger.js'
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
  EntryFilter,
  EntryPage,
  EntrySummary,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from '../operations.js'
import { InboxClock } from '../inbox-clock.js'
import { DEFAULT_DISCARDED_RETENTION_MS, DEFAULT_RETENTION_MS } from '../retention.js'
import { act, ActRefused } from './act.js'
import { addAll } from './add.js'
import { Batches } from './batches.js'
import { begin, claim, extend, recordTypes, setTimesAnew } from './claim.js'
import { Connections, type Connection } from './connections.js'
import type { PostgresPool } from './driver.js'
import { warnIfNotDurable } from './durability.js'
import { rowId } from './entry-id.js'
import { closedError, inboxError, isFault } from './inbox-error.js'
import { LeaseConnection } from './lease-connection.js'
import { list, related, show, stats } from './look.js'
import { Announcements, DueListener } from './notifications.js'
import { prune } from './prune.js'
import { DEFAULT_SCHEMA, migrate } from './schema.js'
import { settle } from './settle.js'
import type { PostgresTransaction } from './guarded-transaction.js'
import { transact } from './transact.js'
import { maxTransactionsOf, TransactionPlaces } from './transaction-places.js'
import { retryConflicts, transaction, type Transaction } from './transaction.js'

export interface PostgresInboxOptions {
  /**
   * Your own `pg.Pool`. The inbox keeps up to two of its connections checked out and needs others for callbacks: its `max` must
   * be at least 4. You end the pool, after the inbox was closed. Give this or `connectionString`.
   */
  readonly pool?: PostgresPool | undefined
  /** Such as `postgres://user:password@host:5432/database`. Requires the package `pg`. Give this or `pool`. */
  readonly connectionString?: string | undefined
  /**
   * How many connections the inbox opens at most, from 4. Only with `connectionString`. A transactional handler uses one while
   * it runs, and all of them together use at most 4 fewer than these.
   * @default 14, enough for a `concurrency` of 10
   */
  readonly maxConnections?: number | undefined
  /**
   * The schema of the inbox within the database, 1 to 63 bytes. Nothing else may be in it.
   * @default 'countersign'
   */
  readonly schema?: string | undefined
  /**
   * How long a handled entry is kept at least, in milliseconds.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number | undefined
  /**
   * How long an entry that an operator discarded is kept at least, in milliseconds; never less than `retentionMs`.
   * @default 2_592_000_000 (30 days)
   */
  readonly discardedRetentionMs?: number | undefined
  /**
   * How long a lock or a free connection is waited for at most, in milliseconds. A statement may take twice as long.
   * @default 4_000
   */
  readonly busyTimeoutMs?: number | undefined
  /** pino, console, or alike; `false` for none. @default warnings and errors go to standard error */
  readonly logger?: Logger | false | undefined
}

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
  readonly #settings: { readonly schema: string; readonly busyTimeoutMs: number }
  readonly #logger: Logger
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
    checkKnownOptions(OWNER, options, KNOWN)
    this.#schema = schemaOption(options.schema)
    const duration = (name: DurationOption, fallback: number, max?: number) =>
      integerOption(OWNER, name, options[name], { fallback, min: 1, ...(max !== undefined && { max }) })
    this.retentionMs = duration('retentionMs', DEFAULT_RETENTION_MS)
    this.discardedRetentionMs = duration('discardedRetentionMs', DEFAULT_DISCARDED_RETENTION_MS)
    const busyTimeoutMs = duration('busyTimeoutMs', 4_000, 500_000_000)
    this.#settings = { schema: this.#schema, busyTimeoutMs }
    this.#logger = loggerOption(OWNER, options.logger)
    const { maxTransactions, ...database } = databaseOptions(options)
    this.maxTransactions = maxTransactions
    this.#places = new TransactionPlaces(maxTransactions ?? Infinity)
    this.#connections = new Connections({ ...database, ...this.#settings })
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

  show(id: EntryId): Promise<Entry | undefined> {
    return this.#transaction((tx) => show(tx, id))
  }

  related(id: EntryId): Promise<RelatedEntry[]> {
    return this.#transaction((tx) => related(tx, id))
  }

  async act(
    id: EntryId,
    action: OperatorAction,
    by: string,
    { again = false }: ActOptions = {},
  ): Promise<ActResult> {
    try {
      const decision = { by, again, schema: this.#schema }
      const result = await this.#transaction((tx) => act(tx, id, action, decision))
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
        await warnIfNotDurable(connection, this.#logger)
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

const OWNER = 'new PostgresInbox'
const KNOWN = [
  'pool',
  'connectionString',
  'maxConnections',
  'schema',
  'retentionMs',
  'discardedRetentionMs',
  'busyTimeoutMs',
  'logger',
] as const satisfies readonly (keyof PostgresInboxOptions)[]

type DurationOption = 'retentionMs' | 'discardedRetentionMs' | 'busyTimeoutMs'

/** Leases, notifications, and two for callbacks, so that one of these may wait for a lock. */
const MIN_CONNECTIONS = 4

function databaseOptions({ pool, connectionString, maxConnections }: PostgresInboxOptions) {
  const max = integerOption(OWNER, 'maxConnections', maxConnections, { fallback: 14, min: MIN_CONNECTIONS })
  if (pool !== undefined) {
    if (connectionString !== undefined)
      throw invalidOption(
        OWNER,
        'connectionString',
        connectionString,
        'give either pool or connectionString',
        'given',
      )
    if (maxConnections !== undefined)
      throw invalidOption(OWNER, 'maxConnections', maxConnections, 'set max of your pool instead')
    objectOption(OWNER, 'pool', pool, pool, ['connect', 'on', 'removeListener'])
    const poolMax = pool.options?.max
    if (poolMax !== undefined && poolMax < MIN_CONNECTIONS)
      throw invalidOption(
        OWNER,
        'pool',
        pool,
        `set its max to ${MIN_CONNECTIONS} or more`,
        `of max ${poolMax}`,
      )
    const maxTransactions = poolMax === undefined ? undefined : maxTransactionsOf(poolMax)
    return { pool, connectionString: undefined, maxConnections: max, maxTransactions }
  }
  // The value is not repeated, as it holds a password.
  const isText = typeof connectionString === 'string' && connectionString !== ''
  const cure =
    'pass a pg.Pool as pool, or a connectionString such as "postgres://user:password@host:5432/database"'
  if (!isText) throw invalidOption(OWNER, 'connectionString', connectionString, cure, typeof connectionString)
  if (/^postgres(ql)?:/.test(connectionString) && parseUrl(connectionString) === undefined)
    throw invalidOption(OWNER, 'connectionString', connectionString, cure, 'no URL')
  return { pool: undefined, connectionString, maxConnections: max, maxTransactions: maxTransactionsOf(max) }
}

function schemaOption(schema: string = DEFAULT_SCHEMA): string {
  const isName = typeof schema === 'string' && schema !== '' && Buffer.byteLength(schema) <= 63
  if (isName && !/^pg_|\0|\$countersign\$/.test(schema) && schema !== 'information_schema') return schema
  throw invalidOption(OWNER, 'schema', schema, 'use a name of 1 to 63 bytes that does not begin with pg_')
}

function hasRowId({ id }: ClaimToken): boolean {
  return rowId(id) !== undefined
}
