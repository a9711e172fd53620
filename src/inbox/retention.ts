import type { Inbox, PruneEntries } from './inbox.js'
import type { PrunableState } from './states.js'

/** 7 days. */
export const DEFAULT_RETENTION_MS = 604_800_000
/** 30 days. */
export const DEFAULT_DISCARDED_RETENTION_MS = 2_592_000_000

export type Retention = Pick<Inbox, 'retentionMs' | 'discardedRetentionMs'>

/** How old an entry in this state must be before it may be deleted, in milliseconds. */
export function retentionOf(state: PrunableState, { retentionMs, discardedRetentionMs }: Retention): number {
  // A repeat of a discarded callback must be recognised for as long as a repeat of a handled one.
  return state === 'handled' ? retentionMs : Math.max(retentionMs, discardedRetentionMs)
}

interface RetentionClocks {
  /** The clock of the inbox. */
  readonly now: number
  /** The latest time that the service has signed, as far as the inbox knows. */
  readonly latestSignedAt: number | undefined
}

/**
 * An entry may be deleted if it ended, and was signed, before this time. An age is measured by two clocks, as either may be
 * wrong: the clock of the inbox, and the timestamps that the service signs. If a machine started with its clock a week ahead,
 * every entry would be old by its clock, and a replay of a deleted callback would be handled again.
 */
export function deletableBefore(
  { state, olderThanMs = 0 }: Pick<PruneEntries, 'state' | 'olderThanMs'>,
  { now, latestSignedAt }: RetentionClocks,
  retention: Retention,
): number {
  if (latestSignedAt === undefined) return -Infinity
  return Math.min(now, latestSignedAt) - Math.max(olderThanMs, retentionOf(state, retention))
}
