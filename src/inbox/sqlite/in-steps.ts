import { nextTick } from '../../base/next-tick.js'
import type { Reader } from './read-inbox-file.js'

/** How long one step blocks the event loop, in milliseconds. A query that is running at its end is completed. */
const STEP_MS = 3

/** Runs one step with the database. */
export type ReadStep = (step: (db: Reader) => void) => Promise<void>

/**
 * Calls `query` until `isDone`, in steps with other work between them. If `query` throws because the file is locked, it is called
 * again.
 */
export async function inSteps(
  read: ReadStep,
  isDone: () => boolean,
  query: (db: Reader) => void,
): Promise<void> {
  while (!isDone()) {
    await read((db) => {
      const end = performance.now() + STEP_MS
      while (!isDone() && performance.now() < end) query(db)
    })
    if (!isDone()) await nextTick()
  }
}
