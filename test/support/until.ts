import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Waits for a state, one turn of the event loop after the other. */
export async function until(isTrue: () => boolean, limitMs = 10_000): Promise<void> {
  const startedAt = performance.now()
  while (!isTrue()) {
    if (performance.now() - startedAt > limitMs) throw new Error(`not within ${limitMs} ms: ${isTrue}`)
    await nextTurn()
  }
}
