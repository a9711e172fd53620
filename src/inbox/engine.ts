import type { EntryId, StoredCallback, VerifiedCallback } from '../callback/callback.js'
import type { PostgresTransaction } from './postgres/guarded-transaction.js'
import type { ActivityBucket, ActivityRange } from './activity.js'
import type { Copying } from './copy.js'
import type {
  ActResult,
  ArrivedHeaders,
  EntryCount,
  EntryFilter,
  EntryList,
  EntryPage,
  InboxOperations,
} from './operations.js'
import type { Decision } from './operator-action.js'
import type { OperatorAction } from './states.js'

/** A filter with its times in milliseconds since 1970. */
export interface EngineFilter extends EntryFilter {
  readonly before?: number | undefined
  readonly after?: number | undefined
}

/**
 * What receivers and workers use of an inbox, behind `ENGINE`: it holds verified callbacks durably until they have been handled.
 * Arguments are not checked: `Inbox` checks those of operators.
 *
 * Every method is one atomic step. When its promise resolves, the step has taken place, and it survives the end of the
 * process and, except for `claim`, a loss of power. When its promise rejects, nothing has changed. The exception is a disk or
 * a connection that failed during the commit: the step may then have taken place. Several processes may share one inbox.
 *
 * An id is a text that the inbox makes. An id that the inbox cannot have made belongs to no entry; it is never an error.
 */
export interface InboxEngine extends Omit<
  InboxOperations,
  'open' | 'list' | 'count' | 'activity' | 'act' | 'close'
> {
  /**
   * Connects, and brings the schema up to date. Rejects when it cannot. Safe to call twice. Several receivers and workers of a
   * process may open the same object: each passes itself as `opener`.
   */
  open(opener?: InboxOpener): Promise<void>

  /**
   * Stores a callback unless it is known. The unique key of this step is the de-duplication.
   *
   * With `begin`, the engine may do in the same step what `claim` and `begin` do for the entry that it stores. The result then has the
   * claim. The engine must ignore it if the arrival has an `orderKey`, as an older entry with this key may be unfinished.
   */
  add(arrival: Arrival, begin?: BeginOnArrival): Promise<AddResult>

  /**
   * Takes up to `limit` entries of those types that are due, oldest first, for `leaseMs`, and says when the next one is
   * due. An entry whose lease has ended is due again: as before if its handlers had not begun, as an interrupted entry
   * if they had. Of entries that share an `orderKey`, only the oldest is ever taken.
   *
   * Until `begin` or `settle` has resolved, a loss of power may undo the claim, and the storing of an entry that was not reported
   * as stored. No handler may begin before, unless the entry has `begun`.
   *
   * The inbox records the requested types: see `InboxState`, `unhandled`. When no worker has a handler for the type of a running entry
   * any more, and its lease has ended, it is stored again. It is then unhandled, and an operator can discard it.
   *
   * Entries stay due when the clock is set back: if a due time was set at a time that is now in the future, its delay or
   * lease is counted again from now. An entry that ended at a time that is now in the future is taken to have ended now. If
   * the clock is set back by less than the time since the last `claim` of this process, the inbox may not notice it. Entries are
   * then late by at most that time. If there are thousands of unfinished entries, it takes several calls to correct their times.
   */
  claim(request: ClaimEntries): Promise<Claims>

  /**
   * Records that the handlers of these entries begin, which counts as an attempt, and renews their leases. The start and, by
   * `settle`, the end of each attempt are part of the entry: see `Entry`, `attemptHistory`. Resolves to the
   * ids of those that are still held; the handlers of the others must not begin. A second call for the same claim only
   * renews its lease.
   */
  begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>>

  /** Renews leases. Resolves to the ids of those that are still held; the others have been lost. */
  extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<EntryId>>

  /**
   * Ends claims, all in one step. Resolves to the ids of those that were still held. The others had been lost: their entries
   * are unchanged, so that a worker that finishes late cannot overwrite the result of another one.
   */
  settle(ends: readonly SettledClaim[]): Promise<ReadonlySet<EntryId>>

  /**
   * Records that the probe of `countersign doctor` with this nonce, a UUID, is answered, and forgets those that were sent before
   * `forgetBeforeMs`. Resolves to false if it was recorded before. The record need not survive a loss of power.
   */
  rememberProbe(nonce: string, sentAtMs: number, forgetBeforeMs: number): Promise<boolean>

  /**
   * Calls `onDue` when entries may have become due, in whichever process. Returns a function that ends the calls. Only
   * for an engine that learns of it. Workers poll as well.
   */
  watch?(onDue: () => void): () => void

  /** How many transactions there can be at the same time. A worker with transactional handlers runs no more entries than that. */
  readonly maxTransactions?: number | undefined

  /**
   * Runs `work` in a transaction, and records in the same transaction the end that `work` resolves to: both are committed or
   * neither is. If `work` resolves to an end other than `complete`, its own writes are rolled back, and the end is recorded by
   * itself, as `settle` does.
   *
   * - `committed`: the end is durable.
   * - `lost`: the claim had been lost, and everything was rolled back.
   *
   * Rejects when nothing was committed. Only for an engine whose database handlers can write to as well.
   */
  transact?(
    claim: ClaimToken,
    options: TransactOptions,
    work: (transaction: PostgresTransaction) => Promise<ClaimEnd>,
  ): Promise<'committed' | 'lost'>

  list(filter: EngineFilter, page: EntryPage): Promise<EntryList>

  count(filter: EngineFilter, max: number): Promise<EntryCount>

  activity(request: ActivityRange): Promise<readonly ActivityBucket[]>

  /** Carries out and records a decision, as `InboxOperations.act` says, and tells those who have opened the object. */
  act(id: EntryId, action: OperatorAction, decision: Decision): Promise<ActResult>

  /** Only for an engine that is durable. */
  readonly copying?: Copying | undefined

  /** Closes the inbox, unless another opener has opened the object and not closed it. Safe to call twice. */
  close(opener?: InboxOpener): Promise<void>
}

/** A receiver or a worker that has opened an inbox. */
export interface InboxOpener {
  /**
   * Called after each decision of an operator that `act` of this object has carried out. It may have made an entry due. So may a
   * discard: the next entry of its order key. It must not throw.
   */
  decided?(id: EntryId, action: OperatorAction, decision: Decision): void
}

export interface TransactOptions {
  /** How long the transaction may take, in milliseconds. */
  readonly timeoutMs: number
}

/** A verified callback on its way into the inbox. */
export interface Arrival {
  readonly callback: VerifiedCallback
  /** The idempotency key and the id of its subscription: what makes two arrivals the same callback. */
  readonly key: string
  /** SHA-256 of the body, Base64. */
  readonly bodyHash: string
  /** The callback's HMAC, Base64. */
  readonly signature: string
  /** Why it may not be handled before an operator has looked at it. */
  readonly suspicion?: string | undefined
  /** Entries with the same key are handled one after the other, in the order in which they arrived. */
  readonly orderKey?: string | undefined
  /** The `Id` of the body, at most 200 characters. Entries are found by it. It does not identify the callback. */
  readonly bodyId?: string | undefined
  /** The headers of the request, without credentials and signatures. */
  readonly headers?: ArrivedHeaders | undefined
  /** See `StoredCallback`. Made by the receiving process, at most 600 bytes. */
  readonly traceContext?: string | undefined
  /** Until when the caller waits for the result, by `performance.now()`. */
  readonly awaitedUntil?: number | undefined
}

export interface BeginOnArrival {
  /** For how long the entry is claimed, in milliseconds. */
  readonly leaseMs: number
}

export type AddResult =
  | {
      readonly result: 'stored'
      readonly id: EntryId
      /** Its first claim, if the inbox has recorded that its handlers begin. */
      readonly claim?: ClaimToken | undefined
    }
  /** The same key with the same body is known, or an exact copy is in quarantine already and has been counted. */
  | { readonly result: 'duplicate'; readonly id: EntryId }
  /** Kept, but not to be handled. */
  | { readonly result: 'quarantined'; readonly id: EntryId; readonly why: QuarantineCause }

/**
 * - `suspicion`: it was suspect on arrival.
 * - `conflict`: its key is known with another body.
 * - `replay`: its signature is known under another key.
 * - `forgotten`: it was signed no later than an entry that was deleted, and may be a replay of that entry.
 */
export type QuarantineCause = 'suspicion' | 'conflict' | 'replay' | 'forgotten'

/** The event types that a worker has handlers for. */
export type EventTypes = readonly string[] | 'any'

export interface ClaimEntries {
  readonly eventTypes: EventTypes
  /** How many entries to take at most. With 0 the inbox only says whether, or when, entries are due. */
  readonly limit: number
  readonly leaseMs: number
  /**
   * Whether to take interrupted entries, and no others: their handlers began, and the lease ran out before an end was
   * recorded. One of them may be what killed its process, so a worker handles them one at a time and nothing beside them.
   * @default false: all others, and no interrupted ones
   */
  readonly interrupted?: boolean | undefined
  /**
   * Does in the same step what `begin` does for entries with fewer attempts than this that were not interrupted. They have `begun` then.
   * If the answer is lost, an attempt counts whose handlers did not begin.
   * @default 0
   */
  readonly beginBelow?: number | undefined
}

export interface Claims {
  readonly entries: readonly ClaimedEntry[]
  /**
   * In how many milliseconds the next entry is due that this request could take. Undefined only when there is none, or when
   * `limit` was reached and `moreIsDue` is not false. 0 if the next call continues to correct times after the clock was set back.
   */
  readonly nextDueInMs?: number | undefined
  /**
   * Whether another entry is due that this request could take. PostgreSQL leaves it out, which saves a query.
   * @default true if `limit` was reached, 0 included
   */
  readonly moreIsDue?: boolean | undefined
  /** Whether an interrupted entry of these types is due and was not taken. */
  readonly interruptedIsDue: boolean
  /** By how many milliseconds the clock was found to have been set back since the last claim, when that is a second or more. */
  readonly clockSetBackMs?: number | undefined
}

/** Identifies a claim. Each claim of an entry has a larger token than the claims before it. */
export interface ClaimToken {
  readonly id: EntryId
  readonly token: number
}

export interface ClaimedEntry extends ClaimToken {
  readonly callback: StoredCallback
  /**
   * The number of the attempt that begins with `begin`; from 1. Only attempts that began are counted. Counted from 1 again
   * when an operator retries the entry.
   */
  readonly attempt: number
  /** An operator retried it, or released it from quarantine. */
  readonly replayed: boolean
  /** Whether it has been recorded that its handlers begin. @default false */
  readonly begun?: boolean | undefined
  /** Whether it has an `orderKey`, so that another entry may become due by its end. PostgreSQL leaves it out. */
  readonly isOrdered?: boolean | undefined
}

export interface SettledClaim {
  readonly claim: ClaimToken
  readonly end: ClaimEnd
}

/** How a claim ends. */
export type ClaimEnd =
  | { readonly move: 'complete' }
  | {
      readonly move: 'reschedule'
      readonly delayMs: number
      readonly error: string
      /** Such as `ERR_HANDLER_FAILED`, for the history of attempts. */
      readonly code?: string | undefined
    }
  | { readonly move: 'deadLetter'; readonly error: string; readonly code?: string | undefined }
  /** Its handlers did not run: it is due again immediately, and the attempt does not count. */
  | { readonly move: 'handBack' }
