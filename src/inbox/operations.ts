import type { EntryId, VerifiedCallback } from '../callback/callback.js'
import type { ActivityBucket, ActivityRequest } from './activity.js'
import type { ArrivedHeaders, Inbox } from './inbox.js'
import type { InboxState } from './states.js'

/**
 * What operators do with an inbox: `countersign inbox` works on anything that has it. The receiver does not need it. The
 * worker uses `stats`, if it is there, to warn of unhandled entries.
 */
export interface InboxOperations extends Pick<
  Inbox,
  'retentionMs' | 'discardedRetentionMs' | 'open' | 'prune' | 'close'
> {
  /** How many entries are in each state. */
  stats(): Promise<InboxStats>

  /** Entries that match the filter, in the order of their arrival. */
  list(filter: EntryFilter, page?: EntryPage): Promise<EntrySummary[]>

  /**
   * As `list`, but each call examines a bounded number of entries. It stays quick where few of many entries match. A page may
   * then have fewer entries than `limit`, or none, although others follow: see `EntrySearch`, `next`.
   */
  search(filter: EntryFilter, page?: EntryPage): Promise<EntrySearch>

  /** How many entries match the filter, up to `max`. It examines a bounded number of entries, as `search` does. */
  count(filter: EntryFilter, max: number): Promise<EntryCount>

  /**
   * How many entries ended, or were quarantined, in each part of a time range, by their present state: a dead letter that was
   * retried is no longer counted as dead, and what was deleted is not counted.
   * @throws CountersignError ERR_OPTION_INVALID
   */
  activity(request: ActivityRequest): Promise<readonly ActivityBucket[]>

  /** One entry with its body, headers, attempts and history. */
  show(id: EntryId): Promise<Entry | undefined>

  /**
   * The other entries that share the entry's idempotency key (of the same subscription) or one of its signatures, those
   * of repeats that were signed anew included, in the order of their arrival. Empty if there is no such entry.
   */
  related(id: EntryId): Promise<RelatedEntry[]>

  /**
   * Records and carries out an operator's decision on one entry. It is refused if there is no such entry, if the state of the
   * entry does not allow it, and, unless `again` is set, if it would handle a callback a second time: the entry was handled,
   * or a related entry was handled or will be.
   * @throws CountersignError ERR_OPTION_INVALID if the reason is too long or has control characters
   */
  act(id: EntryId, action: OperatorAction, by: string, options?: ActOptions): Promise<ActResult>
}

/** An inbox for receivers, workers and operators, as those of this package are. */
export interface CompleteInbox extends Inbox, Omit<InboxOperations, keyof Inbox> {}

/**
 * `retry`: handle it again. `release`: handle what was in quarantine, as the event type of its subscription, whatever its
 * header said. `discard`: never handle it.
 */
export type OperatorDecision = 'retry' | 'release' | 'discard'

/**
 * `undo`: take back the latest decision on the entry, which gets back its state, reason and times. Possible until a worker
 * claims the entry, and once for each decision. The release of a callback that was repeated since cannot be taken back.
 */
export type OperatorAction = OperatorDecision | 'undo'

export type ActResult =
  | { readonly done: true }
  | {
      readonly done: false
      /**
       * - `not-found`: there is no such entry.
       * - `state`: the state of the entry does not allow it.
       * - `repeat`: it would handle a callback a second time, which `again` permits.
       */
      readonly code: 'not-found' | 'state' | 'repeat'
      /** A sentence that names the entry, and the other one where there is one. */
      readonly message: string
    }

export interface ActOptions {
  /** Do it although the callback is then handled a second time. */
  readonly again?: boolean | undefined
  /** Why, for the history: at most 500 characters, without control characters such as line feeds. */
  readonly reason?: string | undefined
}

/** An entry that shares the idempotency key or a signature of another one. */
export interface RelatedEntry {
  readonly id: EntryId
  readonly state: InboxState
  /** `callback`: the idempotency key and the body. `signature`: a signature, but not both of those. `key`: only the key. */
  readonly shares: 'callback' | 'signature' | 'key'
  /** False while it is in quarantine, and once it was discarded from there. */
  readonly accepted: boolean
}

export interface EntryFilter {
  readonly states?: readonly InboxState[] | undefined
  readonly eventType?: string | undefined
  /** X-Idempotency-Key, in lower case. */
  readonly idempotencyKey?: string | undefined
  /** The `Id` of the body. Entries that were stored by an earlier version are not found by it. */
  readonly bodyId?: string | undefined
  /** The id of the subscription; the event type and the URL if it has no id of its own. */
  readonly subscriptionId?: string | undefined
  /** The reason contains this text, whether in capital letters or not (A to Z). */
  readonly reason?: string | undefined
  /** Received before or after this time, in milliseconds since 1970. */
  readonly before?: number | undefined
  readonly after?: number | undefined
}

export interface EntryPage {
  /** The last entry of the page before. @default undefined, which is the first page */
  readonly afterId?: EntryId | undefined
  /** @default 100 */
  readonly limit?: number | undefined
  /** @default false */
  readonly newestFirst?: boolean | undefined
}

export interface EntrySummary {
  readonly id: EntryId
  readonly state: InboxState
  readonly eventType: string
  readonly idempotencyKey: string
  /** The `Id` of the body. Undefined if it has none, or if an earlier version stored the entry. */
  readonly bodyId?: string | undefined
  readonly subscription: VerifiedCallback['subscription']
  readonly signedAt: Date
  readonly receivedAt: Date
  /** How often its handlers have begun. */
  readonly attempts: number
  /** When it is due, or its lease ends. Undefined while it waits for a handler or for an older entry of its order key. */
  readonly dueAt?: Date | undefined
  /** When it ended; of a repeat that was signed anew later, when that arrived. */
  readonly finishedAt?: Date | undefined
  /** Why it failed last, or why it is in quarantine. */
  readonly reason?: string | undefined
  /** How many more exact copies arrived. */
  readonly copies: number
}

export interface EntrySearch {
  /** Those that were found, in order. */
  readonly entries: EntrySummary[]
  /** Set if there may be more: pass it as `afterId`. */
  readonly next?: EntryId | undefined
}

export interface EntryCount {
  readonly count: number
  /** Whether more entries match, or were not examined. */
  readonly more: boolean
}

export interface Entry extends EntrySummary {
  readonly rawBody: Buffer
  /** Undefined if an earlier version stored the entry. */
  readonly headers?: ArrivedHeaders | undefined
  /** See `VerifiedCallback`. */
  readonly traceContext?: string | undefined
  /** The latest attempts, oldest first, at most 50. Those before a person retried the entry are among them. */
  readonly attemptHistory: readonly Attempt[]
  /** What operators did, oldest first. */
  readonly history: readonly OperatorRecord[]
}

/** One time that the handlers of an entry began. */
export interface Attempt {
  /** From 1; from 1 again after a person retried the entry. */
  readonly number: number
  readonly startedAt: Date
  /** Undefined while it is running, and if the process died or lost its lease. */
  readonly endedAt?: Date | undefined
  readonly result: AttemptResult
  /** Such as `ERR_HANDLER_FAILED`. */
  readonly code?: string | undefined
  readonly error?: string | undefined
}

/**
 * - `running`: no end is recorded yet.
 * - `handled`: all handlers succeeded.
 * - `retrying`: it failed, and the entry was to be tried again.
 * - `dead`: it failed, and the entry became a dead letter.
 * - `interrupted`: the lease ended, or the process, before an end was recorded.
 * - `handedBack`: the worker gave the entry back without a result. It does not count as an attempt.
 */
export type AttemptResult = 'running' | 'handled' | 'retrying' | 'dead' | 'interrupted' | 'handedBack'

/** One action of an operator. */
export interface OperatorRecord {
  readonly at: Date
  readonly action: OperatorAction
  readonly by: string
  readonly reason?: string | undefined
}

export type InboxStats = Readonly<Record<InboxState, number>> & {
  /** When the oldest entry arrived that is stored, running or retrying. */
  readonly oldestUnfinished?: Date | undefined
}
