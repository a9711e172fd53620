import type { ClaimEnd, ClaimToken } from '../../src/inbox/engine.js'
import type { WholeInbox } from './whole-inbox.js'

/** Ends one claim. Resolves to whether it was held. */
export async function settle(inbox: WholeInbox, claim: ClaimToken, end: ClaimEnd): Promise<boolean> {
  return (await inbox.settle([{ claim, end }])).has(claim.id)
}
