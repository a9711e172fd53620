// Not the globals: a test that installs fake timers before this file is loaded would stop every callback.
import { setImmediate } from 'node:timers'
import { batchChannel, type BatchMeasurement } from '../base/measurements.js'
import type { JoinBatch } from './read-callback.js'

const defer = setImmediate

/**
 * The largest batch. No callback of a batch is answered before its last one has been decided on, which for the others includes the
 * synchronous work of handlers. In a larger batch this work would add up.
 */
const MAX_SIZE = 32

/**
 * Collects the callbacks that arrive in the same event loop tick into batches. Each step then runs for the whole
 * batch while its code and data are in the CPU caches. Processing each callback when it arrives takes a quarter more
 * processor time, because the system calls of each one evict the caches.
 */
export function createBatches(): JoinBatch {
  let open: Promise<void> | undefined
  let size = 0

  const begin = (): Promise<void> => {
    size = 0
    const batch = new Promise<void>((resolve) => {
      defer(() => {
        if (batchChannel.hasSubscribers)
          batchChannel.publish({ size: open === batch ? size : MAX_SIZE } satisfies BatchMeasurement)
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
