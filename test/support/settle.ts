import type { ClaimEnd, ClaimToken, Inbox } from '../../src/inbox/inbox.js'

/** Ends one claim. Resolves to whether it was held. */
export async function settle(inbox: Inbox, claim: ClaimToken, end: ClaimEnd): Promise<boolean> {
  return (await inbox.settle([{ claim, end }])).has(claim.id)
}
