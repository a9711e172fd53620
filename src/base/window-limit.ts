import { performance } from 'node:perf_hooks'

/** Returns a function that is true for at most `limit` calls in each window. The first call after a window begins the next one. */
export function windowLimit(limit: number, windowMs: number): () => boolean {
  let startedAt = -Infinity
  let admitted = 0
  return () => {
    const now = performance.now()
    if (now - startedAt >= windowMs) [startedAt, admitted] = [now, 0]
    return admitted++ < limit
  }
}
