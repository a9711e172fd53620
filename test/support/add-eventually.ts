import type { AddResult, Arrival } from '../../src/inbox/engine.js'
import { arrival } from './arrivals.js'
import { nextLook } from './until.js'
import type { WholeInbox } from './whole-inbox.js'

/** Stores a callback as soon as the inbox does not refuse it. */
export async function addEventually(inbox: WholeInbox, what: Arrival = arrival()): Promise<AddResult> {
  const now = performance.now.bind(performance)
  // An inbox that could not be opened tries again after a second: time passes a hundred times as fast here.
  const startedAt = now()
  performance.now = () => startedAt + (now() - startedAt) * 100
  try {
    for (let looks = 0; ; looks++) {
      try {
        return await inbox.add(what)
      } catch {
        await nextLook(looks)
      }
    }
  } finally {
    performance.now = now
  }
}
