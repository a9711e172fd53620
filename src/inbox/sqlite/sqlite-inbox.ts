import { resolve } from 'node:path'
import { loggerOption, type LoggerOption } from '../../logging/logger-option.js'
import type { EntryId } from '../../callback/callback.js'
import type { HasAll } from '../../base/has-all.js'
import { environmentOf } from '../../base/environment.js'
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
import type { Copying } from '../copy.js'
import { AskedTypes } from '../handled-types.js'
import { InboxClock } from '../inbox-clock.js'
import { Inbox } from '../inbox.js'
import { InboxOpeners } from '../inbox-openers.js'
import { RETENTION_OPTIONS, retentionOptions, type RetentionOptions } from '../retention.js'
import type { Decision } from '../operator-action.js'
import { storedHeaders } from '../stored-headers.js'
import type { SqliteDriver } from './driver.js'
import { GroupCommit } from './group-commit.js'
import { callbackOfThread, withBuffer } from './thread-messages.js'

/** Options of `SqliteInbox`. */
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
 * `ERR_INBOX_IO`. Once the cause is gone, the inbox continues without a restart.
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
    const environment = environmentOf(options)
    const inProcess = (options as InProcess)[IN_PROCESS]
    this.#clock = new InboxClock(clockOption(OWNER, options.clock, environment.now))
    this.#commits = new GroupCommit({
      // Resolved now, as the process may change its current folder.
      file: resolve(file),
      busyTimeoutMs: durationOption(OWNER, 'busyTimeoutMs', options.busyTimeoutMs, 4_000),
      clock: () => this.#clock.now(),
      logger: loggerOption(OWNER, options.logger),
      environment,
      mayHaveThread: inProcess === undefined,
      driver: inProcess === true ? undefined : inProcess,
    })
  }

  open(opener?: InboxOpener): Promise<void> {
    return this.#openers.open(opener, () => this.#commits.open())
  }

  async add(arrival: Arrival, begin?: BeginOnArrival): Promise<AddResult> {
    return this.#commits.add({ ...arrival, headers: storedHeaders(arrival.headers), begin })
  }

  async claim(request: ClaimEntries): Promise<Claims> {
    let steps = 0
    let types: readonly string[] = []
    let claimedAt = 0
    const { claims, corrected } = await this.#commits.write<'claim'>((now) => {
      claimedAt = now
      steps = this.#clock.unhandledSteps
      types = this.#askedTypes.toRecord(request.eventTypes, now)
      const requeues = types.length > 0 && this.#askedTypes.wereRecordedLately(request.eventTypes, now)
      const correction = steps === 0 ? undefined : { at: this.#clock.continuesAt(steps) }
      return ['claim', { request, types, requeues, correction }]
    }, request.limit)
    // Only after the commit, because the write may be tried again.
    if (types.length > 0) this.#askedTypes.recorded(request.eventTypes, claimedAt)
    const entries = claims.entries.map((entry) => ({ ...entry, callback: callbackOfThread(entry.callback) }))
    const clockSetBackMs = corrected && this.#clock.handled(steps, corrected)
    const { isSetAhead, ...found } = claims
    // The next claim corrects it.
    if (isSetAhead) this.#clock.isBehind()
    const isNext = isSetAhead || corrected?.next !== undefined
    return { ...found, entries, clockSetBackMs, ...(isNext && { nextDueInMs: 0 }) }
  }

  async begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#renew('begin', claims, leaseMs)
  }

  async extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>> {
    return this.#renew('extend', claims, leaseMs)
  }

  async settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>> {
    const settled = ends.map(({ claim, end }) => ({ claim: tokenOf(claim), end }))
    return this.#commits.write<'settle'>(() => ['settle', settled], ends.length)
  }

  stats(): Promise<InboxStats> {
    return this.#commits.read('stats')
  }

  list(filter: EngineFilter, page: EntryPage): Promise<EntryList> {
    return this.#commits.read('list', filter, page)
  }

  count(filter: EngineFilter, max: number): Promise<EntryCount> {
    return this.#commits.read('count', filter, max)
  }

  activity(request: ActivityRange): Promise<readonly ActivityBucket[]> {
    return this.#commits.read('activity', request)
  }

  async show(id: EntryId): Promise<Entry | undefined> {
    const entry = await this.#commits.read('show', id)
    return entry && withBuffer(entry)
  }

  related(id: EntryId): Promise<RelatedEntry[]> {
    return this.#commits.read('related', id)
  }

  async act(id: EntryId, action: OperatorAction, decision: Decision): Promise<ActResult> {
    return this.#openers.decide(id, action, decision, () =>
      this.#commits.write<'act'>(() => ['act', id, action, decision]),
    )
  }

  async prune(request: PruneEntries): Promise<number> {
    const { retentionMs, discardedRetentionMs } = this
    const retention = { retentionMs, discardedRetentionMs }
    if (request.dryRun) return this.#commits.read('prunable', request, retention, this.#clock.now())
    return this.#commits.write<'prune'>(() => ['prune', request, retention], request.limit)
  }

  async rememberProbe(nonce: string, sentAtMs: number, forgetBeforeMs: number): Promise<boolean> {
    return this.#commits.write<'rememberProbe'>(() => ['rememberProbe', nonce, sentAtMs, forgetBeforeMs])
  }

  get copying(): Copying {
    const commits = this.#commits
    return {
      needsOrderText: true,
      marks: () => commits.read('copyMarks'),
      versions: (afterId) => commits.read('copyVersions', afterId),
      read: (ids) => commits.read('copyRead', ids),
      mark: (marks) => commits.write<'copyMark'>(() => ['copyMark', marks]),
      remove: (ids) => commits.write<'copyRemove'>(() => ['copyRemove', ids], ids.length),
      write: (entries) => commits.write<'copyWrite'>(() => ['copyWrite', entries], entries.length),
    }
  }

  /** Completes the calls that were made before. The file stays open while another opener uses it. */
  close(opener?: InboxOpener): Promise<void> {
    return this.#openers.close(opener, () => this.#commits.close())
  }

  #renew(how: 'begin' | 'extend', claims: readonly ClaimToken[], leaseMs: number): Promise<Set<EntryId>> {
    const tokens = claims.map(tokenOf)
    return this.#commits.write<'renew'>(() => ['renew', how, tokens, leaseMs], claims.length)
  }
}

/** Without what else a worker knows of the entry, such as its body. */
function tokenOf({ id, token }: ClaimToken): ClaimToken {
  return { id, token }
}

/**
 * The option by which the command line keeps the file in its own thread. The simulation does so with a driver of its own. It is not
 * a part of the public interface.
 */
export const IN_PROCESS: unique symbol = Symbol.for('countersign.in-process')

interface InProcess {
  /** True: with the usual driver. */
  readonly [IN_PROCESS]?: SqliteDriver | true | undefined
}

const OWNER = 'new SqliteInbox'
const KNOWN = [
  'file',
  ...RETENTION_OPTIONS,
  'busyTimeoutMs',
  'clock',
  'logger',
] as const satisfies readonly (keyof SqliteInboxOptions)[]
void (true satisfies HasAll<keyof SqliteInboxOptions, typeof KNOWN>)
