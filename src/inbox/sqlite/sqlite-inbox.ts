import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { property } from '../../base/foreign-value.js'
import { loggerOption, type LoggerOption } from '../../logging/logger-option.js'
import type { EntryId } from '../../callback/callback.js'
import type { HasAll } from '../../base/has-all.js'
import { checkKnownOptions, clockOption, durationOption, invalidOption } from '../../base/option-checks.js'
import { refuseSurroundingSpace } from '../../base/surrounding-space.js'
import type {
  EngineFilter,
  AddResult,
  Arrival,
  BeginOnArrival,
  ClaimEntries,
  Claims,
  ClaimToken,
  EventTypes,
  InboxEngine,
  InboxOpener,
  SettledClaim,
} from '../engine.js'
import type { PruneEntries } from '../operations.js'
import type {
  ActResult,
  Entry,
  EntryCount,
  EntryPage,
  EntryList,
  InboxStats,
  OperatorAction,
  RelatedEntry,
} from '../operations.js'
import type { ActivityBucket, ActivityRange } from '../activity.js'
import { AskedTypes } from '../handled-types.js'
import { InboxClock } from '../inbox-clock.js'
import { Inbox } from '../inbox.js'
import { InboxOpeners } from '../inbox-openers.js'
import { RETENTION_OPTIONS, retentionOptions, type RetentionOptions } from '../retention.js'
import type { Decision } from '../operator-action.js'
import { countInSteps, searchInSteps } from '../search.js'
import { act } from './act.js'
import { activity } from './activity.js'
import { add } from './add.js'
import { begin, claim, extend, requeueUnhandled, setTimesAnew, settle } from './claims.js'
import type { Connection } from './connection.js'
import { GroupCommit } from './group-commit.js'
import { recordTypes } from './handled-types.js'
import { related, show } from './operator.js'
import { rememberProbe } from './probes.js'
import { idsToPrune, prune } from './prune.js'
import { countStep, EXAMINED_BY_STEP, searchStep } from './search.js'
import { stats } from './stats.js'

export interface SqliteInboxOptions extends RetentionOptions, LoggerOption {
  /**
   * The name of the file. The file is created if it does not exist, but its folder is not. SQLite keeps two more files beside
   * it.
   */
  readonly file: string
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
}

/**
 * An inbox in one file, durable on one machine, for any number of its processes. The calls of one event loop tick
 * are committed together, with one sync of the disk.
 *
 * Rejects with a `CountersignError` that says what is wrong with the file and how to cure it: `ERR_INBOX_BUSY`,
 * `ERR_INBOX_FULL`, `ERR_INBOX_READ_ONLY`, `ERR_INBOX_CORRUPT`, `ERR_INBOX_NEWER`, `ERR_INBOX_REPLACED`, `ERR_INBOX_UNTRUSTED`,
 * `ERR_INBOX_IO`. Once the cause is gone, the inbox continues without a restart, except after a failed sync of the file itself,
 * which has to be copied first.
 */
export class SqliteInbox extends Inbox {
  constructor(options: SqliteInboxOptions) {
    super(new SqliteEngine(options))
  }
}

class SqliteEngine implements InboxEngine {
  readonly retentionMs: number
  readonly discardedRetentionMs: number
  readonly #clock: InboxClock
  readonly #commits: GroupCommit
  readonly #askedTypes = new AskedTypes()
  readonly #openers = new InboxOpeners()

  constructor(options: SqliteInboxOptions) {
    checkKnownOptions(OWNER, options, KNOWN)
    const { file } = options
    // For these names SQLite opens a temporary database, which is lost when it is closed.
    if (typeof file !== 'string' || file === '' || file === ':memory:')
      throw invalidOption(OWNER, 'file', file, 'name a file, such as "callbacks.db"')
    // A connection string may have a password.
    refuseSurroundingSpace(OWNER, 'file', file, { mayBeShown: !file.includes('://') })
    const { retentionMs, discardedRetentionMs } = retentionOptions(OWNER, options)
    this.retentionMs = retentionMs
    this.discardedRetentionMs = discardedRetentionMs
    this.#clock = new InboxClock(clockOption(OWNER, options.clock, Date.now))
    this.#commits = new GroupCommit({
      // Resolved now, as the process may change its current folder.
      file: resolve(file),
      busyTimeoutMs: durationOption(OWNER, 'busyTimeoutMs', options.busyTimeoutMs, 4_000),
      logger: loggerOption(OWNER, options.logger),
    })
  }

  open(opener?: InboxOpener): Promise<void> {
    return this.#openers.open(opener, () => this.#commits.open())
  }

  async add(arrival: Arrival, begin?: BeginOnArrival): Promise<AddResult> {
    let added: AddResult | undefined
    const store = (db: Connection) => (added = add(db, arrival, begin, this.#clock.now()))
    try {
      return await this.#commits.write(store, { isArrival: true })
    } catch (error) {
      if (added?.result === 'stored' && added.claim) void this.#handBack(added.claim, begin!.leaseMs)
      throw error
    }
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    // The sync of `begin` covers a claim. A sync of its own took 4 percent of the processor time of a callback.
    const { claims, now, types, steps, correction } = await this.#commits.write(
      (db) => {
        const now = this.#clock.now()
        const steps = this.#clock.unhandledSteps
        const correction = steps === 0 ? undefined : setTimesAnew(db, now, this.#clock.continuesAt(steps))
        const types = this.#recordTypes(db, request.eventTypes, now)
        return { claims: claim(db, request, now), now, types, steps, correction }
      },
      { isDurable: false, entries: request.limit },
    )
    // Only after the commit, because the operation may have been rolled back and run again.
    if (types.length > 0) this.#askedTypes.recorded(request.eventTypes, now)
    if (!correction) return claims
    const clockSetBackMs = this.#clock.handled(steps, correction)
    return { ...claims, clockSetBackMs, ...(correction.next && { nextDueInMs: 0 }) }
  }

  async begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#commits.write((db) => begin(db, claims, leaseMs, this.#clock.now()), {
      entries: claims.length,
    })
  }

  async extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#commits.write((db) => extend(db, claims, leaseMs, this.#clock.now()), {
      entries: claims.length,
    })
  }

  async settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>> {
    return this.#commits.write((db) => settle(db, ends, this.#clock.now()), { entries: ends.length })
  }

  stats(): Promise<InboxStats> {
    return stats((step) => this.#commits.read(step))
  }

  list(filter: EngineFilter, page: EntryPage): Promise<EntryList> {
    const step = (afterId: EntryId | undefined, limit: number) =>
      this.#commits.read((db) => searchStep(db, filter, { ...page, afterId, limit }))
    return searchInSteps(page, step, EXAMINED_BY_STEP)
  }

  async count(filter: EngineFilter, max: number): Promise<EntryCount> {
    const step = (afterId: EntryId | undefined) => this.#commits.read((db) => countStep(db, filter, afterId))
    return countInSteps(max, step, EXAMINED_BY_STEP)
  }

  activity(request: ActivityRange): Promise<readonly ActivityBucket[]> {
    return activity(request, (step) => this.#commits.read(step))
  }

  async show(id: EntryId): Promise<Entry | undefined> {
    return this.#commits.read((db) => show(db, id))
  }

  async related(id: EntryId): Promise<RelatedEntry[]> {
    return this.#commits.read((db) => related(db, id))
  }

  async act(id: EntryId, action: OperatorAction, decision: Decision): Promise<ActResult> {
    return this.#openers.decide(id, action, decision, () =>
      this.#commits.write((db) => act(db, id, action, decision, this.#clock.now())),
    )
  }

  async prune(request: PruneEntries): Promise<number> {
    if (request.dryRun)
      return this.#commits.read((db) => idsToPrune(db, request, this, this.#clock.now()).length)
    return this.#commits.write((db) => prune(db, request, this, this.#clock.now()), {
      entries: request.limit,
    })
  }

  async rememberProbe(nonce: string, sentAtMs: number, forgetBeforeMs: number): Promise<boolean> {
    const remember = (db: Connection) => rememberProbe(db, nonce, sentAtMs, forgetBeforeMs)
    return this.#commits.write(remember, { isDurable: false })
  }

  /** Completes the calls that were made before. The file stays open while another opener uses it. */
  close(opener?: InboxOpener): Promise<void> {
    return this.#openers.close(opener, () => this.#commits.close())
  }

  /**
   * If a sync failed, the entry may be in the file although its call rejected. No handler runs for it, and it would wait until its lease
   * has ended.
   */
  async #handBack(claim: ClaimToken, leaseMs: number): Promise<void> {
    const leaseEndsAt = performance.now() + leaseMs
    while (performance.now() < leaseEndsAt) {
      try {
        await this.settle([{ claim, end: { move: 'handBack' } }])
        return
      } catch (error) {
        if (property(error, 'code') === 'ERR_CLOSED') return
        await delay(HAND_BACK_AGAIN_MS, undefined, { ref: false })
      }
    }
  }

  /** Returns the types that were to be recorded. */
  #recordTypes(db: Connection, eventTypes: EventTypes, now: number): readonly string[] {
    const types = this.#askedTypes.toRecord(eventTypes, now)
    recordTypes(db, types, now)
    if (types.length > 0 && this.#askedTypes.wereRecordedLately(eventTypes, now)) requeueUnhandled(db, now)
    return types
  }
}

const OWNER = 'new SqliteInbox'
/** A file that could not be written is tried again once a second. */
const HAND_BACK_AGAIN_MS = 1_000
const KNOWN = [
  'file',
  ...RETENTION_OPTIONS,
  'busyTimeoutMs',
  'clock',
  'logger',
] as const satisfies readonly (keyof SqliteInboxOptions)[]
void (true satisfies HasAll<keyof SqliteInboxOptions, typeof KNOWN>)
