import type { EntryId, VerifiedCallback } from '../callback/callback.js'
import type { Inbox } from './inbox.js'
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

  /** One entry with its body and history. */
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
   */
  act(id: EntryId, action: OperatorAction, by: string, options?: ActOptions): Promise<ActResult>
}

/** An inbox for receivers, workers and operators, as those of this package are. */
export interface CompleteInbox extends Inbox, Omit<InboxOperations, keyof Inbox> {}

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

export interface ActOptions {
  /** Do it although the callback is then handled a second time. */
  readonly again?: boolean | undefined
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

export interface Entry extends EntrySummary {
  readonly rawBody: Buffer
  readonly history: readonly { readonly at: Date; readonly action: string; readonly by: string }[]
}

export type InboxStats = Readonly<Record<InboxState, number>> & {
  /** When the oldest entry arrived that is stored, running or retrying. */
  readonly oldestUnfinished?: Date | undefined
}
