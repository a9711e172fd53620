import type { EntryId } from '../callback/callback.js'
import type { StoredState } from './states.js'

/** The states in which an entry has a due time or a lease. Few entries are running. */
const UNFINISHED_STATES = ['running', 'retrying', 'stored'] as const satisfies readonly StoredState[]

/** The last entry that was examined, by its state at that time. */
export interface UnfinishedEntry {
  readonly state: (typeof UNFINISHED_STATES)[number]
  readonly id: EntryId
}

/**
 * The result of a correction of due times and leases that were set at a time that is now in the future. A correction examines a bounded
 * number of entries: after an outage of handlers, to examine all of them could take longer than the time limit of a statement.
 * Entries that change their state in the meantime need no correction, because their times are set anew.
 */
export interface TimesCorrection {
  /** How far ahead of the clock the latest of the times was set, in milliseconds. */
  readonly aheadMs: number
  /** Where the correction continues. Undefined if every unfinished entry has been examined. */
  readonly next?: UnfinishedEntry | undefined
}

/** The states whose entries are still to be examined, each with the id after which they begin. */
export function statesFrom(at: UnfinishedEntry | undefined): UnfinishedEntry[] {
  const first = at ? UNFINISHED_STATES.indexOf(at.state) : 0
  return UNFINISHED_STATES.slice(first).map((state) => (state === at?.state ? at : { state, id: '0' }))
}
