/** How the delays between attempts grow. */
export interface Backoff {
  /** The delay before the second attempt, in milliseconds; it doubles with each further one. */
  readonly retryDelayMs: number
  readonly maxRetryDelayMs: number
}

/**
 * How long to wait after a failed attempt, in milliseconds. Half of the delay is random, so that attempts that failed together
 * are not repeated together.
 */
export function backoff(
  attempt: number,
  { retryDelayMs, maxRetryDelayMs }: Backoff,
  random: () => number,
): number {
  // After many attempts the power is Infinity. Math.min limits this as well.
  const delay = Math.min(retryDelayMs * 2 ** (attempt - 1), maxRetryDelayMs)
  return Math.round(delay * (0.5 + random() / 2))
}
