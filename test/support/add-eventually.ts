import type { AddResult, Inbox } from '../../src/inbox/inbox.js'
import { arrival } from './arrivals.js'
import { nextLook } from './until.js'

/** Stores a callback as soon as the inbox does not refuse it. */
export async function addEventually(inbox: Inbox): Promise<AddResult> {
  for (let looks = 0; ; looks++) {
    try {
      return await inbox.add(arrival())
    } catch {
      await nextLook(looks)
    }
  }
}
