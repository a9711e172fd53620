import type { VerifiedCallback } from '../callback/callback.js'
import type { InboxState, PRUNABLE } from './states.js'

/**
 * Holds verified callbacks durably until they have been handled.
 *
 * Every method is one atomic step that has taken place, and will outlive the process and the machine's power, when its
 * promise resolves; when it rejects, nothing has. Several processes may share one inbox. `registerInboxTests` of
 * `countersign/testing` holds an inbox to all of this.
 */
export interface Inbox {
  /**
   * How long what was handled is remembered at least, in milliseconds, counted from the latest delivery that was signed
   * anew, by this machine's clock and by the times that the service signs: within this time no repeat is handled again.
   */
  readonly retentionMs: number

  /** How long what a person discarded is kept, in milliseconds. */
  readonly discardedRetentionMs: number

  /** Makes ready: connects, brings the schema up to date. Rejects with a clear error when it cannot. Safe to call twice. */
  open(): Promise<void>

  /** Stores a callback unless it is known. The unique key of this step *is* the de-duplication. */
  add(arrival: Arrival): Promise<AddResult>

  /**
   * Takes up to `limit` entries of those types that are due, oldest first, for `leaseMs`, and says when the next one is
   * due. An entry whose lease has run out is due again: as before when its handlers had not begun, as an interrupted entry
   * when they had. Of entries that share an `orderKey`, only the oldest is ever taken; an unhandled entry is one of them.
   *
   * Entries stay due when the clock is set back: where a due time was set at a time that is now in the future, its delay or
   * lease is counted again from now. An entry that ended at a time that is now in the future is taken to have ended now.
   */
  claim(request: ClaimEntries): Promise<Claims>

  /**
   * Records that the handlers of these entries begin, which counts as an attempt, and renews their leases. Resolves to the
   * ids of those that are still held; the handlers of the others must not begin. Has no further effect on a claim that has
   * begun.
   */
  begin(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<number>>

  /** Renews leases. Resolves to the ids of those that are still held; the others have been lost. */
  extend(claims: readonly ClaimToken[], leaseMs: number): Promise<ReadonlySet<number>>

  /** Ends a claim. Resolves to false, and changes nothing, when it had been lost: the fencing against late finishers. */
  finish(claim: ClaimToken, result: ClaimEnd): Promise<boolean>

  /** Makes unhandled entries of these types due, as they have a handler now. Resolves to how many. */
  requeueUnhandled(eventTypes: EventTypes): Promise<number>

  /**
   * Makes entries unhandled that an operator had retried or released, that have been due since before `dueBefore`, and
   * that are of none of these types: without a handler they would wait as stored, and nobody would look for them there.
   * An inbox may look at some of them only, as it is called again and again. Resolves to how many.
   */
  markUnhandled(eventTypes: EventTypes, dueBefore: number): Promise<number>

  /**
   * Deletes up to `limit` entries that were handled, or discarded, before `before`, oldest first. Resolves to how many.
   * Nothing in any other state is ever deleted, and nothing that this machine's clock or the latest time that the service
   * has signed does not allow: an entry must have ended, and have been signed, longer ago than `before` and `retentionMs`
   * say, by each of the two clocks. A time that the service has signed counts no further than the time of its arrival.
   *
   * The latest signed time of what was deleted is kept. What arrives later, is not known, and was signed no later than that
   * is quarantined (`forgotten`), as it may be a replay.
   */
  prune(
    state: (typeof PRUNABLE)[number],
    before: number,
    limit: number,
    options?: PruneOptions,
  ): Promise<number>

  close(): Promise<void>
}

/**
 * What operators do with an inbox: `countersign inbox` works on anything that has it. The receiver and its worker do not
 * need it.
 */
export interface InboxOperations extends Pick<Inbox, 'retentionMs' | 'open' | 'prune' | 'close'> {
  /** How many entries are in each state. */
  stats(): Promise<InboxStats>

  /** Entries that fit the filter, by id, at most `limit` after `afterId`. */
  list(filter: EntryFilter, page?: { afterId?: number; limit?: number }): Promise<EntrySummary[]>

  /** One entry with its body and history. */
  show(id: number): Promise<Entry | undefined>

  /**
   * The other entries that share the entry's idempotency key (of the same subscription) or one of its signatures, those
   * of repeats that were signed anew included; by id. Empty where there is no such entry.
   */
  related(id: number): Promise<RelatedEntry[]>

  /**
   * A person's decision on one entry, recorded in its history. It is refused where the entry is gone, where its state does
   * not allow it, and, unless `again` is set, where it would handle a callback a second time: the entry was handled, or a
   * related entry was handled or will be.
   */
  act(id: number, action: OperatorAction, by: string, options?: ActOptions): Promise<ActResult>
}

/** An inbox for receivers, workers and operators, as those of this package are. */
export interface CompleteInbox extends Inbox, Omit<InboxOperations, keyof Inbox> {}

/** A verified callback on its way into the inbox. */
export interface Arrival {
  readonly callback: VerifiedCallback
  /** The idempotency key and the id of its subscription: what makes two arrivals the same callback. */
  readonly key: string
  /** SHA-256 of the body, Base64. */
  readonly bodyHash: string
  /** The callback's HMAC, Base64. */
  readonly signature: string
  /** Why it may not be handled before a person has looked at it. */
  readonly suspicion?: string | undefined
  /** Entries with the same key are handled one after the other, in the order in which they arrived. */
  readonly orderKey?: string | undefined
  /** Whether there is a handler for its type. */
  readonly hasHandler: boolean
}

export type AddResult =
  | { readonly result: 'stored' | 'unhandled'; readonly id: number }
  /** The same key with the same body is known, or an exact copy is in quarantine already and has been counted. */
  | { readonly result: 'duplicate'; readonly id: number }
  /** Kept, but not to be handled. */
  | { readonly result: 'quarantined'; readonly id: number; readonly why: QuarantineCause }

/**
 * - `suspicion`: it was suspect on arrival.
 * - `conflict`: its key is known with another body.
 * - `replay`: its signature is known under another key.
 * - `forgotten`: it was signed no later than an entry that was deleted, and may be a replay of that entry.
 */
export type QuarantineCause = 'suspicion' | 'conflict' | 'replay' | 'forgotten'

/** The types that somebody has handlers for. */
export type EventTypes = readonly string[] | 'any'

export interface ClaimEntries {
  readonly eventTypes: EventTypes
  readonly limit: number
  readonly leaseMs: number
  /**
   * Whether to take interrupted entries, and no others: their handlers began, and the lease ran out before an end was
   * recorded. One of them may be what killed its process, so a worker handles them one at a time and nothing beside them.
   * @default false: all others, and no interrupted ones
   */
  readonly interrupted?: boolean | undefined
}

export interface Claims {
  readonly entries: readonly ClaimedEntry[]
  /**
   * In how many milliseconds the next entry is due that this request could take. Undefined when there is none, or when
   * `limit` was reached.
   */
  readonly nextDueInMs?: number | undefined
  /** Whether an interrupted entry of these types is due and was not taken. */
  readonly interruptedIsDue: boolean
  /** By how many milliseconds the clock was found to have been set back since the last claim, when that is a second or more. */
  readonly clockSetBackMs?: number | undefined
}

/** A claim, and the number of it that fences off older ones. */
export interface ClaimToken {
  readonly id: number
  readonly token: number
}

export interface ClaimedEntry extends ClaimToken {
  readonly callback: VerifiedCallback
  /**
   * The number of the attempt that begins with `begin`; from 1. Only attempts that began are counted. Counted from 1 again
   * when a person retries the entry.
   */
  readonly attempt: number
  /** A person had it handled again, or released it from quarantine. */
  readonly replayed: boolean
}

export type ClaimEnd =
  | { readonly move: 'complete' }
  | { readonly move: 'reschedule'; readonly delayMs: number; readonly error: string }
  | { readonly move: 'deadLetter'; readonly error: string }
  /** There is no handler for it. */
  | { readonly move: 'markUnhandled' }
  /** Its handlers were not begun: it is due again at once. */
  | { readonly move: 'handBack' }

/**
 * `retry`: handle it again. `release`: handle what was in quarantine, as the event type of its subscription, whatever its
 * header said. `discard`: never handle it.
 */
export type OperatorAction = 'retry' | 'release' | 'discard'

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

export interface PruneOptions {
  /** Delete nothing, but tell how many it would be. */
  readonly dryRun?: boolean | undefined
}

export interface ActOptions {
  /** Do it although the callback is then handled a second time. */
  readonly again?: boolean | undefined
}

/** An entry that shares the idempotency key or a signature of another one. */
export interface RelatedEntry {
  readonly id: number
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
  /** The reason contains this text, whether in capital letters or not (A to Z). */
  readonly reason?: string | undefined
  /** Received before or after this time, in milliseconds since 1970. */
  readonly before?: number | undefined
  readonly after?: number | undefined
}

export interface EntrySummary {
  readonly id: number
  readonly state: InboxState
  readonly eventType: string
  readonly idempotencyKey: string
  readonly subscription: VerifiedCallback['subscription']
  readonly signedAt: Date
  readonly receivedAt: Date
  /** How often its handlers have begun. */
  readonly attempts: number
  /** When it is due, or its lease runs out. */
  readonly dueAt?: Date | undefined
  /** When it ended; of a repeat that was signed anew later, when that arrived. */
  readonly finishedAt?: Date | undefined
  /** Why it failed last, or why it is in quarantine. */
  readonly reason?: string | undefined
  /** How many more exact copies arrived. */
  readonly copies: number
}

export interface Entry extends EntrySummary {
  readonly rawBody: Buffer
  readonly history: readonly { readonly at: Date; readonly action: string; readonly by: string }[]
}

export type InboxStats = Readonly<Record<InboxState, number>> & {
  /** When the oldest entry arrived that is stored, running or retrying. */
  readonly oldestUnfinished?: Date | undefined
}
