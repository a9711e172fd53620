/** Where an entry of the inbox stands. */
export type InboxState =
  /** On the disk, waiting for a worker. */
  | 'stored'
  /** Claimed by a worker, whose lease has not run out. */
  | 'running'
  /** Failed, and due again later. */
  | 'retrying'
  /** Every handler has finished. */
  | 'handled'
  /** Given up after the last attempt; a person may retry or discard it. */
  | 'dead'
  /** Of a type that has no handler; runs when one is registered. */
  | 'unhandled'
  /** Authentic but suspect: not handled until a person releases it. */
  | 'quarantined'
  /** Put aside by a person, for good. */
  | 'discarded'

/** What can happen to an entry, from which states, and where it leads. docs/inbox.md shows the same table. */
export const MOVES = {
  claim: { from: ['stored', 'retrying', 'running'], to: 'running', by: 'worker' },
  complete: { from: ['running'], to: 'handled', by: 'worker' },
  reschedule: { from: ['running'], to: 'retrying', by: 'worker' },
  deadLetter: { from: ['running'], to: 'dead', by: 'worker' },
  markUnhandled: { from: ['running', 'stored'], to: 'unhandled', by: 'worker' },
  handBack: { from: ['running'], to: 'stored', by: 'worker' },
  requeueUnhandled: { from: ['unhandled'], to: 'stored', by: 'worker' },
  retry: { from: ['dead', 'retrying', 'handled'], to: 'stored', by: 'operator' },
  release: { from: ['quarantined'], to: 'stored', by: 'operator' },
  discard: {
    from: ['dead', 'unhandled', 'retrying', 'stored', 'quarantined'],
    to: 'discarded',
    by: 'operator',
  },
} as const satisfies Record<
  string,
  { from: readonly InboxState[]; to: InboxState; by: 'worker' | 'operator' }
>

export type Move = keyof typeof MOVES

/** States that an entry may be deleted in, once it is old enough: only what was handled, or given up by a person. */
export const PRUNABLE = ['handled', 'discarded'] as const satisfies readonly InboxState[]
