// Not the globals: a test that fakes the timers before this file is loaded must not stop every callback.
import { setImmediate } from 'node:timers'

const defer = setImmediate

/**
 * The largest batch. All callbacks of a batch have claimed their keys before the first handler begins, and none is answered
 * before the last handler has begun: a larger batch would add up what the handlers compute.
 */
const MAX_SIZE = 32

/**
 * Processes callbacks that arrive in the same tick of the event loop in batches. Each step is then done for the whole batch
 * while its code and data are in the processor's caches. One callback after the other takes twice as long, as the system
 * calls of each one empty the caches for the next.
 */
export function createBatches(): JoinBatch {
  let open: Promise<void> | undefined
  let size = 0

  const begin = (): Promise<void> => {
    size = 0
    const batch = new Promise<void>((resolve) => {
      defer(() => {
        if (open === batch) open = undefined
        resolve()
      })
    })
    return batch
  }

  return () => {
    if (!open || size === MAX_SIZE) open = begin()
    size++
    return open
  }
}

/** Resolves once the event loop has read what has arrived, at the same moment for all callbacks of one batch. */
type JoinBatch = () => Promise<void>
