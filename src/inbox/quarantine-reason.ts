import type { EntryId } from '../callback/callback.js'

/** Why an arrival that is not suspect by itself is quarantined. Begins with the code that the log has for it. */
export const QUARANTINE_REASON = {
  conflict: (knownId: EntryId) =>
    `ERR_IDEMPOTENCY_KEY_REUSED: conflict, its idempotency key is that of entry ${knownId}, which has another body`,
  replay: (knownId: EntryId) =>
    `ERR_SIGNATURE_REPLAYED: replay, its signature is that of entry ${knownId}, which has another idempotency key`,
  forgotten:
    'ERR_TIMESTAMP_OUT_OF_TOLERANCE: forgotten, callbacks that were signed as late as this one have been deleted, and it ' +
    'may be a replay of one of them. Check the clock of this machine',
}
