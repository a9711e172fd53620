import type { EntryId } from '../../callback/callback.js'
import {
  type ActivityBucket,
  type ActivityRange,
  ACTIVITY_STATES,
  ActivityCounts,
  type ActivityState,
} from '../activity.js'
import type {
  EngineFilter,
  AddResult,
  Arrival,
  BeginOnArrival,
  ClaimEnd,
  ClaimEntries,
  Claims,
  ClaimToken,
  InboxOpener,
  SettledClaim,
  InboxEngine,
  TransactOptions,
} from '../engine.js'
import type {
  PruneEntries,
  ActResult,
  Entry,
  EntryCount,
  EntryPage,
  EntryList,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from '../operations.js'
import type { Copying } from '../copy.js'
import type { Decision } from '../operator-action.js'
import { act, ActRefused } from './act.js'
import { Arrivals } from './arrivals.js'
import { Inbox } from '../inbox.js'
import { InboxOpeners } from '../inbox-openers.js'
import { InboxDatabase } from './inbox-database.js'
import { closedError } from './inbox-error.js'
import { LeaseOperations } from './lease-operations.js'
import * as copy from './copy.js'
import { limitTransactions } from './limit-transactions.js'
import { related, show } from './look.js'
import { Announcements, DueListener } from './notifications.js'
import {
  parsePostgresInboxOptions,
  type PostgresInboxOptions,
  type PostgresInboxSettings,
} from './options.js'
import { prune } from './prune.js'
import { count, search } from './search.js'
import type { PostgresTransaction } from './guarded-transaction.js'
import { stats } from './stats.js'
import { transact } from './transact.js'
import type { Transaction } from './transaction.js'
import type { BigInteger } from '../stored-entry.js'

/**
 * An inbox in a PostgreSQL database, for any number of processes on any number of machines. All arrivals of one tick of the
 * event loop are committed together. The clock of the database is the only one.
 *
 * Rejects with a `CountersignError` that says what is wrong and how to cure it: `ERR_INBOX_BUSY`, `ERR_INBOX_UNREACHABLE`,
 * `ERR_INBOX_READ_ONLY`, `ERR_INBOX_FULL`, `ERR_INBOX_FORBIDDEN`, `ERR_INBOX_NEWER`, `ERR_INBOX_UNSUPPORTED`,
 * `ERR_INBOX_CORRUPT`. Once the cause is gone, the inbox continues without a restart.
 */
export class PostgresInbox extends Inbox {
  constructor(options: PostgresInboxOptions) {
    super(new PostgresEngine(options))
  }
}

class PostgresEngine implements InboxEngine {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  /** How many transactional handlers can run at once: 4 fewer than there are connections, but at least 1. */
  readonly maxTransactions: number | undefined
  readonly #settings: PostgresInboxSettings
  readonly #database: InboxDatabase
  readonly #leases: LeaseOperations
  readonly #listener: DueListener
  readonly #announcements: Announcements
  readonly #arrivals: Arrivals
  readonly #withinLimit: ReturnType<typeof limitTransactions>
  readonly #openers = new InboxOpeners()
  #closed: Promise<void> | undefined

  constructor(options: PostgresInboxOptions) {
    const settings = parsePostgresInboxOptions(options)
    this.retentionMs = settings.retentionMs
    this.discardedRetentionMs = settings.discardedRetentionMs
    this.maxTransactions = settings.maxTransactions
    this.#settings = settings
    this.#withinLimit = limitTransactions(settings)
    this.#database = new InboxDatabase(settings)
    this.#leases = new LeaseOperations(this.#database, settings)
    this.#listener = new DueListener(this.#database.connections)
    this.#announcements = new Announcements(this.#database.connections)
    const onDue = () => this.#announcements.announce()
    this.#arrivals = new Arrivals(this.#database, settings, onDue)
  }

  /** Brings the schema up to date, which needs a role that may do so. */
  open(opener?: InboxOpener): Promise<void> {
    return this.#openers.open(opener, () => this.#makeReady())
  }

  async add(arrival: Arrival, begin?: BeginOnArrival): Promise<AddResult> {
    this.#checkNotClosed()
    return this.#arrivals.add({ ...arrival, begin })
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    this.#checkNotClosed()
    return this.#leases.claim(request)
  }

  async begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    this.#checkNotClosed()
    return this.#leases.renew('begin', claims, leaseMs)
  }

  async extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    this.#checkNotClosed()
    return this.#leases.renew('extend', claims, leaseMs)
  }

  /**
   * After a rejected call, repeat it with the same claim objects: the end may have been recorded and only the answer lost. The
   * claim then counts as held.
   */
  async settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>> {
    this.#checkNotClosed()
    const { held, isAnyDue } = await this.#leases.settle(ends)
    if (isAnyDue) this.#announcements.announce()
    return held
  }

  stats(): Promise<InboxStats> {
    return this.#transaction(stats)
  }

  list(filter: EngineFilter, page: EntryPage): Promise<EntryList> {
    return this.#transaction((tx) => search(tx, filter, page))
  }

  async count(filter: EngineFilter, max: number): Promise<EntryCount> {
    return this.#transaction((tx) => count(tx, filter, max))
  }

  async activity(request: ActivityRange): Promise<readonly ActivityBucket[]> {
    return this.#transaction((tx) => activity(tx, request))
  }

  async show(id: EntryId): Promise<Entry | undefined> {
    return this.#transaction((tx) => show(tx, id))
  }

  async related(id: EntryId): Promise<RelatedEntry[]> {
    return this.#transaction((tx) => related(tx, id))
  }

  async act(id: EntryId, action: OperatorAction, decision: Decision): Promise<ActResult> {
    return this.#openers.decide(id, action, decision, async () => {
      try {
        const result = await this.#transaction((tx) => act(tx, id, action, decision, this.#settings.schema))
        // Also after a discard, which may make the next entry of an order key due.
        if (result.done) {
          this.#leases.decided()
          this.#announcements.announce()
        }
        return result
      } catch (error) {
        if (error instanceof ActRefused) return error.refusal
        throw error
      }
    })
  }

  async prune(request: PruneEntries): Promise<number> {
    return this.#transaction((tx) => prune(tx, request, this))
  }

  async rememberProbe(nonce: string, sentAtMs: number, forgetBeforeMs: number): Promise<boolean> {
    return this.#transaction((tx) => rememberProbe(tx, nonce, sentAtMs, forgetBeforeMs))
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
    await this.#makeReady()
    const result = await this.#withinLimit(() => transact(this.#database.connections, claimed, options, work))
    this.#announcements.announce()
    if (typeof result === 'string') return result
    const held = await this.settle([{ claim: claimed, end: result.recordAlone }])
    return held.has(claimed.id) ? 'committed' : 'lost'
  }

  get copying(): Copying {
    const { schema } = this.#settings
    return {
      needsOrderText: false,
      marks: () => this.#transaction(copy.marks),
      versions: (afterId) => this.#transaction((tx) => copy.versions(tx, afterId)),
      read: (ids) => this.#transaction((tx) => copy.readEntries(tx, ids)),
      mark: (marks) => this.#transaction((tx) => copy.mark(tx, marks)),
      remove: (ids) => this.#transaction((tx) => copy.removeEntries(tx, ids)),
      write: (entries) => this.#transaction((tx) => copy.writeEntries(tx, entries, schema)),
    }
  }

  /**
   * What was passed to `add`, `begin`, `extend` and `settle` before is still recorded. Other calls that are running, such as those of
   * operators, may reject with `ERR_CLOSED`. A pool of your own stays open, and everything while another opener uses it.
   */
  close(opener?: InboxOpener): Promise<void> {
    return this.#openers.close(opener, () => (this.#closed ??= this.#close()))
  }

  async #close(): Promise<void> {
    this.#listener.close()
    await this.#arrivals.close()
    await this.#announcements.close()
    await this.#database.close()
  }

  async #makeReady(): Promise<void> {
    this.#checkNotClosed()
    await this.#database.makeReady()
  }

  #checkNotClosed(): void {
    if (this.#closed) throw closedError(this.#settings.schema)
  }

  async #transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    this.#checkNotClosed()
    return this.#database.commit(work)
  }
}

/** Returns false if the nonce is known. It is stored like the signature of a repeat, of an entry that does not exist. */
async function rememberProbe(
  tx: Transaction,
  nonce: string,
  sentAtMs: number,
  forgetBeforeMs: number,
): Promise<boolean> {
  const forget = 'DELETE FROM entries WHERE kind = 1 AND repeat_of = 0 AND signed_at < $1::bigint'
  await tx.run(forget, forgetBeforeMs)
  const remember =
    "INSERT INTO entries (id, kind, repeat_of, signed_at, signature) VALUES (-nextval('entries_id'), 1, 0, $1::bigint, $2::uuid) " +
    'ON CONFLICT DO NOTHING'
  return (await tx.run(remember, sentAtMs, nonce)) === 1
}

/** Counts by the index on the ends of entries. */
async function activity(tx: Transaction, request: ActivityRange): Promise<readonly ActivityBucket[]> {
  const counts = new ActivityCounts(request)
  const { from, to, bucketMs } = request
  for (const row of await tx.all<BucketRow>(COUNTS, from, to, bucketMs))
    counts.add(row.state, Number(row.start), Number(row.count))
  return counts.result()
}

interface BucketRow {
  readonly state: ActivityState
  readonly start: BigInteger
  readonly count: BigInteger
}

// One count for each part takes two thirds of the time of a count that groups the entries by a computed part.
const COUNTS = ACTIVITY_STATES.map(
  (state) => `
  SELECT '${state}' AS state, start, (
    SELECT count(*) FROM ended WHERE state = '${state}' AND at >= start AND at < least(start + $3::bigint, $2::bigint)
  ) AS count
  FROM generate_series($1::bigint, $2::bigint - 1, $3::bigint) AS start`,
).join(' UNION ALL ')
