import { setImmediate as nextTurn } from 'node:timers/promises'

/** Waits for a state, one turn of the event loop after the other; the test's own time-out is the limit. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await nextTurn()
}
