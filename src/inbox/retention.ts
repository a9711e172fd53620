import { integerOption } from '../base/option-checks.js'
import type { InboxOperations, PruneEntries } from './operations.js'
import type { PrunableState } from './states.js'

/** How long an inbox keeps entries that have ended. */
export interface RetentionOptions {
  /**
   * How long a handled entry is kept at least, in milliseconds.
   * @default 604_800_000 (7 days)
   */
  readonly retentionMs?: number | undefined
  /**
   * How long an entry that an operator discarded is kept at least, in milliseconds; never less than `retentionMs`.
   * @default 2_592_000_000 (30 days)
   */
  readonly discardedRetentionMs?: number | undefined
}

export const RETENTION_OPTIONS = [
  'retentionMs',
  'discardedRetentionMs',
] as const satisfies readonly (keyof RetentionOptions)[]

/** 7 days. */
export const DEFAULT_RETENTION_MS = 604_800_000
/** 30 days. */
export const DEFAULT_DISCARDED_RETENTION_MS = 2_592_000_000

/** @throws CountersignError ERR_OPTION_INVALID */
export function retentionOptions(owner: string, options: RetentionOptions): Retention {
  const option = (name: keyof RetentionOptions, fallback: number) =>
    integerOption(owner, name, options[name], { fallback, min: 1 })
  return {
    retentionMs: option('retentionMs', DEFAULT_RETENTION_MS),
    discardedRetentionMs: option('discardedRetentionMs', DEFAULT_DISCARDED_RETENTION_MS),
  }
}

export type Retention = Pick<InboxOperations, 'retentionMs' | 'discardedRetentionMs'>

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
