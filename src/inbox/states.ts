/** The state of an entry, as `stats`, `list` and `show` report it. */
export type InboxState =
  /** It waits for a worker. */
  | 'stored'
  /** A worker has claimed it, and the lease has not ended. */
  | 'running'
  /** It failed, and is due again later. */
  | 'retrying'
  /** All its handlers have succeeded. */
  | 'handled'
  /** It failed, and is not tried again. An operator may retry or discard it. */
  | 'dead'
  /**
   * As `stored` or `retrying`, but no worker has a handler for its event type. An inbox does not store this state. It derives
   * it from the types that workers asked for: see `handledTypes`.
   */
  | 'unhandled'
  /** Authentic but suspect: it is not handled before an operator releases it. */
  | 'quarantined'
  /** An operator decided that it is never handled. */
  | 'discarded'

/** The states that an inbox stores. */
export type StoredState = Exclude<InboxState, 'unhandled'>

/** What can happen to an entry, in which states, and which state follows. docs/inbox.md has the same table. */
export const MOVES = {
  claim: { from: ['stored', 'retrying', 'unhandled', 'running'], to: 'running', by: 'worker' },
  complete: { from: ['running'], to: 'handled', by: 'worker' },
  reschedule: { from: ['running'], to: 'retrying', by: 'worker' },
  deadLetter: { from: ['running'], to: 'dead', by: 'worker' },
  handBack: { from: ['running'], to: 'stored', by: 'worker' },
  requeue: { from: ['running'], to: 'stored', by: 'worker' },
  retry: { from: ['dead', 'retrying', 'handled'], to: 'stored', by: 'operator' },
  release: { from: ['quarantined'], to: 'stored', by: 'operator' },
  discard: {
    from: ['dead', 'unhandled', 'retrying', 'stored', 'quarantined'],
    to: 'discarded',
    by: 'operator',
  },
} as const satisfies Record<
  string,
  { from: readonly InboxState[]; to: StoredState; by: 'worker' | 'operator' }
>

export type Move = keyof typeof MOVES

/**
 * `retry`: handle the entry again. `release`: handle an entry that is in quarantine. It then has the event type of its subscription,
 * not that of its header, which is not signed. `discard`: never handle the entry.
 */
export type OperatorDecision = 'retry' | 'release' | 'discard'

/**
 * `undo`: take back the latest decision on the entry. The entry gets back its state, reason and times. This is possible until a
 * worker claims the entry, and once for each decision. It is not possible for a release if the callback was repeated since.
 */
export type OperatorAction = OperatorDecision | 'undo'

/** The states in which an old entry may be deleted. */
export const PRUNABLE = ['handled', 'discarded'] as const satisfies readonly StoredState[]

/** A state whose old entries can be deleted. */
export type PrunableState = (typeof PRUNABLE)[number]

/** How many entries are in each state of an empty inbox; the compiler keeps it complete. */
export const NO_ENTRIES: Readonly<Record<InboxState, number>> = {
  stored: 0,
  running: 0,
  retrying: 0,
  handled: 0,
  dead: 0,
  unhandled: 0,
  quarantined: 0,
  discarded: 0,
}
