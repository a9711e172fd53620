import { resolve } from 'node:path'
import { loggerOption, type Logger } from '../../logging/logger.js'
import {
  checkKnownOptions,
  durationOption,
  functionOption,
  integerOption,
  invalidOption,
} from '../../base/option-checks.js'
import type {
  ActOptions,
  ActResult,
  AddResult,
  Arrival,
  ClaimEnd,
  ClaimEntries,
  Claims,
  ClaimToken,
  CompleteInbox,
  Entry,
  EntryFilter,
  EntrySummary,
  EventTypes,
  InboxStats,
  OperatorAction,
  PruneOptions,
  RelatedEntry,
} from '../inbox.js'
import { InboxClock } from '../inbox-clock.js'
import { add } from './add.js'
import { requeueSome, begin, claim, extend, finish, setTimesAnew } from './claims.js'
import { GroupCommit } from './group-commit.js'
import { act, list, related, show, stats } from './operator.js'
import { idsToPrune, prune } from './prune.js'
import { markUnhandled } from './mark-unhandled.js'
import { PRUNABLE, type InboxState } from '../states.js'

export interface SqliteInboxOptions {
  /** Where the entries are. Made when it is not there; its directory is not. SQLite keeps two more files beside it. */
  readonly file: string
  /**
   * How long what was handled is remembered at least, in milliseconds.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number | undefined
  /**
   * How long what a person discarded is kept, in milliseconds.
   * @default 2_592_000_000 (30 days)
   */
  readonly discardedRetentionMs?: number | undefined
  /**
   * How long to try again while another process holds the file, in milliseconds.
   * @default 4_000
   */
  readonly busyTimeoutMs?: number | undefined
  /**
   * The current time, in milliseconds since 1970.
   * @default Date.now
   */
  readonly clock?: (() => number) | undefined
  /** pino, console, or alike; `false` for none. @default warnings and errors go to standard error */
  readonly logger?: Logger | false | undefined
}

/**
 * An inbox in one file, durable on one machine, for any number of its processes. What arrives within one turn of the
 * event loop is committed together, with one sync of the disk.
 *
 * Rejects with a `CountersignError` that says what is wrong with the file and how to cure it: `ERR_INBOX_BUSY`,
 * `ERR_INBOX_FULL`, `ERR_INBOX_READ_ONLY`, `ERR_INBOX_CORRUPT`, `ERR_INBOX_NEWER`, `ERR_INBOX_IO`. Once the cause is gone
 * it goes on by itself.
 */
export class SqliteInbox implements CompleteInbox {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  readonly #clock: InboxClock
  readonly #commits: GroupCommit

  constructor(options: SqliteInboxOptions) {
    checkKnownOptions(OWNER, options, KNOWN)
    const { file } = options
    // SQLite takes these for databases that are gone when they are closed.
    if (typeof file !== 'string' || file === '' || file === ':memory:')
      throw invalidOption(OWNER, 'file', file, 'name a file, such as "callbacks.db"')
    const duration = (name: 'retentionMs' | 'discardedRetentionMs', fallback: number) =>
      integerOption(OWNER, name, options[name], { fallback, min: 1 })
    this.retentionMs = duration('retentionMs', 604_800_000)
    this.discardedRetentionMs = duration('discardedRetentionMs', 2_592_000_000)
    this.#clock = new InboxClock(functionOption(OWNER, 'clock', options.clock, Date.now))
    this.#commits = new GroupCommit({
      // Resolved now, as the process may change its directory.
      file: resolve(file),
      busyTimeoutMs: durationOption(OWNER, 'busyTimeoutMs', options.busyTimeoutMs, 4_000),
      logger: loggerOption(OWNER, options.logger),
    })
  }

  open(): Promise<void> {
    return this.#commits.open()
  }

  add(arrival: Arrival): Promise<AddResult> {
    return this.#commits.write((db) => add(db, arrival, this.#clock.now()))
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    const { claims, steps, aheadMs } = await this.#commits.write((db) => {
      const now = this.#clock.now()
      const steps = this.#clock.unhandledSteps
      const aheadMs = steps === 0 ? 0 : setTimesAnew(db, now)
      return { claims: claim(db, request, now), steps, aheadMs }
    })
    // Only now, as the operation may have been rolled back and run again.
    return steps === 0 ? claims : { ...claims, clockSetBackMs: this.#clock.handled(steps, aheadMs) }
  }

  begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<number>> {
    return this.#commits.write((db) => begin(db, claims, leaseMs, this.#clock.now()))
  }

  extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<number>> {
    return this.#commits.write((db) => extend(db, claims, leaseMs, this.#clock.now()))
  }

  finish(claimed: ClaimToken, result: ClaimEnd): Promise<boolean> {
    return this.#commits.write((db) => finish(db, claimed, result, this.#clock.now()))
  }

  /** In steps, so that callbacks are taken in between them: there may be very many. */
  async requeueUnhandled(eventTypes: EventTypes): Promise<number> {
    let total = 0
    for (let requeued = REQUEUE_STEP; requeued === REQUEUE_STEP; total += requeued) {
      requeued = await this.#commits.write((db) =>
        requeueSome(db, eventTypes, REQUEUE_STEP, this.#clock.now()),
      )
    }
    return total
  }

  markUnhandled(eventTypes: EventTypes, dueBefore: number): Promise<number> {
    return this.#commits.write((db) => markUnhandled(db, eventTypes, dueBefore))
  }

  stats(): Promise<InboxStats> {
    return this.#commits.read(stats)
  }

  list(filter: EntryFilter, page?: { afterId?: number; limit?: number }): Promise<EntrySummary[]> {
    return this.#commits.read((db) => list(db, filter, page))
  }

  show(id: number): Promise<Entry | undefined> {
    return this.#commits.read((db) => show(db, id))
  }

  related(id: number): Promise<RelatedEntry[]> {
    return this.#commits.read((db) => related(db, id))
  }

  act(
    id: number,
    action: OperatorAction,
    by: string,
    { again = false }: ActOptions = {},
  ): Promise<ActResult> {
    return this.#commits.write((db) => act(db, id, action, { by, now: this.#clock.now(), again }))
  }

  async prune(
    state: (typeof PRUNABLE)[number],
    before: number,
    limit: number,
    { dryRun = false }: PruneOptions = {},
  ): Promise<number> {
    if (!(PRUNABLE as readonly InboxState[]).includes(state)) return 0
    const { retentionMs } = this
    const request = () => ({ before, limit, now: this.#clock.now(), retentionMs })
    if (dryRun) return this.#commits.read((db) => idsToPrune(db, state, request()).length)
    return this.#commits.write((db) => prune(db, state, request()))
  }

  /** What was asked for before is still done. */
  close(): Promise<void> {
    return this.#commits.close()
  }
}

const OWNER = 'new SqliteInbox'
const KNOWN = [
  'file',
  'retentionMs',
  'discardedRetentionMs',
  'busyTimeoutMs',
  'clock',
  'logger',
] as const satisfies readonly (keyof SqliteInboxOptions)[]

const REQUEUE_STEP = 500
