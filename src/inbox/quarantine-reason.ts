/** Why an arrival that nothing else speaks against is put in quarantine, for the person who looks at it. */
export const QUARANTINE_REASON = {
  conflict: (knownId: number) => `its idempotency key is that of entry ${knownId}, which has another body`,
  replay: (knownId: number) => `its signature is that of entry ${knownId}, which has another idempotency key`,
}
