import { performance } from 'node:perf_hooks'
import { setImmediate as nextTick } from 'node:timers/promises'

// Taken before a test can replace the timers.
const { setTimeout } = globalThis

const BUSY_TURNS = 100
/** Shorter than the time limit of a test, whose error does not say what it waits for. */
export const LIMIT_MS = 45_000

/**
 * Waits before the next look at a state: a turn of the event loop at first, then a millisecond, as a test that waits for a
 * second must not keep other processes from the processor.
 */
export async function nextLook(looks: number): Promise<void> {
  if (looks < BUSY_TURNS) await nextTick()
  else await new Promise<void>((resolve) => setTimeout(resolve, 1))
}

/** Waits for a state. */
export async function until(isTrue: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const startedAt = performance.now()
  for (let looks = 0; ; looks++) {
    const found = isTrue()
    // Without a promise it takes no further microtask.
    if (typeof found === 'boolean' ? found : await found) return
    if (performance.now() - startedAt > limitMs) throw new Error(`not within ${limitMs} ms: ${isTrue}`)
    await nextLook(looks)
  }
}
