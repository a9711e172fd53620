/**
 * Detects that a clock was set ahead, by comparison with the monotonic clock of the process. The returned function tells by how
 * many milliseconds the clock has advanced more than the time that has passed since the last call.
 */
export function watchClock(clock: () => number): () => number {
  let last: { readonly time: number; readonly monotonicTime: number } | undefined
  return () => {
    const now = { time: clock(), monotonicTime: performance.now() }
    const before = last ?? now
    last = now
    return now.time - before.time - (now.monotonicTime - before.monotonicTime)
  }
}
