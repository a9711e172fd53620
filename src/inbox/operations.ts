import type { EntryId, VerifiedCallback } from '../callback/callback.js'
import type { ActivityBucket, ActivityRequest } from './activity.js'
import type { InboxState, OperatorAction, PrunableState } from './states.js'

export type { OperatorAction, OperatorDecision } from './states.js'

/**
 * What operators and their programs do with an inbox: `SqliteInbox`, `PostgresInbox` and `MemoryInbox` have these methods. They may
 * be called beside the receivers and workers that use the object, and in a process that has none.
 */
export interface InboxOperations {
  /**
   * How long a handled entry is kept at least, in milliseconds. The time counts from the latest delivery that was signed anew,
   * by the clock of the inbox and by the times that the service signs. Within this time no repeat is handled again.
   */
  readonly retentionMs: number

  /** How long an entry that an operator discarded is kept at least, in milliseconds. */
  readonly discardedRetentionMs: number

  /**
   * Connects, and brings the schema up to date. Rejects when it cannot. Safe to call twice. A receiver or a worker opens its inbox
   * itself when it starts.
   */
  open(): Promise<void>

  /** How many entries are in each state. */
  stats(): Promise<InboxStats>

  /**
   * Entries that match the filter, in the order of their arrival: at most `limit` of them, which is 100 by default. Each call examines
   * a bounded number of entries, so it is fast also if few of many entries match. A page may have fewer entries than `limit`, or none,
   * although more entries match. Then `next` of the result is set.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
   */
  list(filter: EntryFilter, page?: EntryPage): Promise<EntryList>

  /** How many entries match the filter, up to `max`. It examines a bounded number of entries, as `list` does. */
  count(filter: EntryFilter, max: number): Promise<EntryCount>

  /**
   * How many entries ended, or were quarantined, in each part of a time range. An entry counts by its present state, so a dead
   * letter that was retried no longer counts as dead. Deleted entries are not counted.
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
   * Carries out an operator's decision on one entry, and records it. It is refused if there is no such entry, or if the state of the
   * entry does not allow it. Unless `again` is set, it is also refused if it would handle a callback a second time: if the entry
   * was handled, or if a related entry was handled or will be. The receivers and workers that have opened this object publish the
   * decision on their `events`, and look for due entries immediately. `by` is a name of 1 to 100 characters, without control characters.
   * @throws CountersignError ERR_OPTION_INVALID if the name or the reason is too long or has control characters
   */
  act(id: EntryId, action: OperatorAction, by: string, options?: ActOptions): Promise<ActResult>

  /**
   * Deletes up to `limit` entries of one state, oldest first. Resolves to their number. The inbox measures the age of an entry
   * by its own clock and by the latest time that the service has signed: the entry must have ended, and all its deliveries
   * must have been signed, longer ago than the age by both. A time that the service has signed counts no further than the time
   * of its arrival.
   *
   * The latest signed time of the deleted entries is kept. A callback that arrives later, is not known, and was signed no later
   * than that is quarantined (`forgotten`), because it may be a replay.
   */
  prune(request: PruneEntries): Promise<number>

  /**
   * Closes the inbox, unless a receiver or a worker has opened the object and not closed it, which then closes it. Safe to call
   * twice.
   */
  close(): Promise<void>
}

/** The result of a decision: it was carried out, or why not. Nothing is changed if it was not. */
export type ActResult =
  | { readonly done: true }
  | {
      readonly done: false
      /**
       * - `not-found`: there is no such entry.
       * - `changed`: it is no longer as `expected` says.
       * - `state`: the state of the entry does not allow it.
       * - `repeat`: it would handle a callback a second time, which `again` permits.
       */
      readonly code: 'not-found' | 'changed' | 'state' | 'repeat'
      /** A sentence that names the entry, and the other one if there is one. */
      readonly message: string
    }

/** Options of a decision about one entry. */
export interface ActOptions {
  /** Whether the decision may cause the callback to be handled a second time. @default false */
  readonly again?: boolean | undefined
  /** The reason, for the history. At most 500 characters, without control characters such as line feeds. @default none */
  readonly reason?: string | undefined
  /**
   * The entry as the operator saw it: a result of `list` or `show`. If the entry has changed since, the decision is
   * refused. The inbox compares in the step that decides. @default undefined, which decides on the entry as it is
   */
  readonly expected?: SeenEntry | undefined
}

/** What attempts and decisions change in an entry. */
export type SeenEntry = Pick<EntrySummary, 'state' | 'attempts' | 'finishedAt'>

/** An entry that shares the idempotency key or a signature of another one. */
export interface RelatedEntry {
  readonly id: EntryId
  readonly state: InboxState
  /** `callback`: the idempotency key and the body. `signature`: a signature, but not both of those. `key`: only the key. */
  readonly shares: 'callback' | 'signature' | 'key'
  /** False while it is in quarantine, and once it was discarded from there. */
  readonly accepted: boolean
}

/** Which entries are meant: those that match each field that is set. Without a field, all entries. */
export interface EntryFilter {
  readonly states?: readonly InboxState[] | undefined
  readonly eventType?: string | undefined
  /** X-Idempotency-Key, in lower case. */
  readonly idempotencyKey?: string | undefined
  /** The `Id` of the body. */
  readonly bodyId?: string | undefined
  /** The id of the subscription; the event type and the URL if it has no id of its own. */
  readonly subscriptionId?: string | undefined
  /** A text that the reason contains. The case of the letters A to Z is ignored. */
  readonly reason?: string | undefined
  /** Received before or after this time: a date, or milliseconds since 1970. */
  readonly before?: Date | number | undefined
  readonly after?: Date | number | undefined
}

/** Which page of the entries is wanted. */
export interface EntryPage {
  /** The last entry of the page before. @default undefined, which is the first page */
  readonly afterId?: EntryId | undefined
  /** @default 100 */
  readonly limit?: number | undefined
  /** @default false */
  readonly newestFirst?: boolean | undefined
}

/** What a list shows of an entry. It does not contain the body. */
export interface EntrySummary {
  readonly id: EntryId
  readonly state: InboxState
  readonly eventType: string
  readonly idempotencyKey: string
  /** The `Id` of the body. Undefined if it has none. */
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

/** One page of entries. */
export interface EntryList {
  /** The entries of this page, in the order that was asked for. */
  readonly entries: EntrySummary[]
  /** Set if more entries may match. Pass it as `afterId` to get the next page. */
  readonly next?: EntryId | undefined
}

/** How many entries match, counted up to a limit. */
export interface EntryCount {
  readonly count: number
  /** Whether more entries match, or may match because they were not examined. */
  readonly more: boolean
}

/** One entry, with its body and its history. */
export interface Entry extends EntrySummary {
  readonly rawBody: Buffer
  readonly headers?: ArrivedHeaders | undefined
  /** The W3C trace context of the process that received it: `traceparent`, and after a line feed `tracestate` if there is one. */
  readonly traceContext?: string | undefined
  /** The latest 50 attempts, oldest first. They include the attempts before an operator retried the entry. */
  readonly attemptHistory: readonly Attempt[]
  /** The decisions of operators, oldest first. */
  readonly history: readonly OperatorRecord[]
}

/** One run of the handlers of an entry. */
export interface Attempt {
  /** Counts from 1, and continues after an operator retried the entry. An attempt that was handed back does not count. */
  readonly number: number
  readonly startedAt: Date
  /** Undefined while the attempt is running, and if its process died or lost the lease. */
  readonly endedAt?: Date | undefined
  readonly result: AttemptState
  /** The code of the failure, such as `ERR_HANDLER_FAILED`. */
  readonly code?: string | undefined
  readonly error?: string | undefined
}

/**
 * - `running`: no end is recorded yet.
 * - `handled`: all handlers succeeded.
 * - `retrying`: it failed, and the entry is tried again.
 * - `dead`: it failed, and the entry became a dead letter.
 * - `interrupted`: the process died, or its lease ended, before an end was recorded.
 * - `handedBack`: the worker gave the entry back without a result. It does not count as an attempt.
 */
export type AttemptState = 'running' | 'handled' | 'retrying' | 'dead' | 'interrupted' | 'handedBack'

/** One action of an operator. */
export interface OperatorRecord {
  readonly at: Date
  readonly action: OperatorAction
  readonly by: string
  readonly reason?: string | undefined
}

/** Figures of a whole inbox. */
export interface InboxStats {
  readonly counts: Readonly<Record<InboxState, number>>
  /** When the oldest entry arrived that is stored, running or retrying. Undefined if there is none. */
  readonly oldestUnfinishedAt?: Date | undefined
  /** How many dead rows the tables have, by the statistics of the server. Only of PostgreSQL. */
  readonly deadRows?: number | undefined
  /**
   * What has kept the server from removing dead rows for a minute or longer: a session, a prepared transaction or a replication slot.
   * `since` is undefined for a slot. Only of PostgreSQL. Undefined if there is nothing.
   */
  readonly oldestSnapshot?: { readonly holder: string; readonly since?: Date | undefined } | undefined
}

/** Headers as they arrived, in their order: what an operator may see of them. */
export interface ArrivedHeaders {
  readonly pairs: readonly (readonly [name: string, value: string])[]
  /** Whether headers beyond the limit of 4 KiB were left out, or the last value was cut. */
  readonly isCut: boolean
}

/** Which old entries are deleted: those in one state, oldest first, at most `limit` of them. */
export interface PruneEntries {
  readonly state: PrunableState
  readonly limit: number
  /**
   * The age that an entry must exceed, in milliseconds. A smaller value than the default has no effect.
   * @default `retentionMs`; for discarded entries `discardedRetentionMs`, if that is longer
   */
  readonly olderThanMs?: number | undefined
  /** Delete nothing, but resolve to how many entries would be deleted. @default false */
  readonly dryRun?: boolean | undefined
}
