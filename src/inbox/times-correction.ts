import type { EntryId } from '../callback/callback.js'
import type { StoredState } from './states.js'

/** The states in which an entry has a due time or a lease. Few entries are running. */
const UNFINISHED_STATES = ['running', 'retrying', 'stored'] as const satisfies readonly StoredState[]

/** The last entry that was examined, by its state at that time. */
export interface UnfinishedEntry {
  readonly state: (typeof UNFINISHED_STATES)[number]
  readonly id: EntryId
}

/** How many unfinished entries one step of a correction examines at most. With SQLite a step blocks the event loop. */
export const EXAMINED_BY_STEP = 2_000
/** How many ends one step changes at most. */
export const ENDS_BY_STEP = 1_000

/**
 * The result of one step of a correction of times that were set at a time that is now in the future: due times, leases and ends. A
 * step examines a bounded number of entries. If many wait, or if many ended while the clock was ahead, all of them could take longer
 * than the time limit of a statement. Entries that change their state between the steps need no correction, because their times are
 * set anew.
 */
export interface TimesCorrection {
  /** How far ahead of the clock the latest due time or lease was set, in milliseconds. */
  readonly aheadMs: number
  /** Where the correction continues. Undefined if it is complete. */
  readonly next?: UnfinishedEntry | undefined
}

/** The states whose entries are still to be examined, each with the id after which they begin. */
export function statesFrom(at: UnfinishedEntry | undefined): UnfinishedEntry[] {
  const first = at ? UNFINISHED_STATES.indexOf(at.state) : 0
  return UNFINISHED_STATES.slice(first).map((state) => (state === at?.state ? at : { state, id: '0' }))
}
