export interface Backoff {
  /** The delay before the second attempt, in milliseconds; it doubles with each further one. */
  readonly retryDelayMs: number
  readonly maxRetryDelayMs: number
}

/**
 * How long to wait after a failed attempt, in milliseconds. Half of it is chance: what failed together, because something
 * they all need was down, must not come back together.
 */
export function backoff(
  attempt: number,
  { retryDelayMs, maxRetryDelayMs }: Backoff,
  random: () => number = Math.random,
): number {
  // 2 ** 1024 is Infinity, and Infinity is cut like any other.
  const delay = Math.min(retryDelayMs * 2 ** (attempt - 1), maxRetryDelayMs)
  return Math.round(delay * (0.5 + random() / 2))
}
