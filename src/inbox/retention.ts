export interface RetentionClocks {
  /** This machine's clock. */
  readonly now: number
  /** The latest time that the service has signed, as far as the inbox knows. */
  readonly latestSignedAt: number | undefined
}

/**
 * Up to when an entry must have been signed and have ended, for it to be deleted. An age is measured by two clocks, as
 * either may be wrong: this machine's, and the timestamps that the service signs. Of a machine that was started with its
 * clock a week ahead, everything would be old, and a replay of what it forgot would be handled again.
 */
export function deletableBefore(
  before: number,
  { now, latestSignedAt }: RetentionClocks,
  retentionMs: number,
): number {
  if (latestSignedAt === undefined) return -Infinity
  // `before` was computed from this machine's clock, so only the age that it stands for is used.
  const ageMs = Math.max(now - before, retentionMs)
  return Math.min(now, latestSignedAt) - ageMs
}
