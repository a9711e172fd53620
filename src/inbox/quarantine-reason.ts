import type { Arrival, QuarantineCause } from './engine.js'
import type { BigInteger } from './stored-entry.js'

/** The entries that have the key and the signature of an arrival, where there are any. */
interface Known {
  readonly keyOf: BigInteger | null | undefined
  readonly signatureOf: BigInteger | null | undefined
}

/** Why an arrival is quarantined. Begins with the code that the log has for it. */
export function quarantineReason(
  why: QuarantineCause,
  { suspicion }: Pick<Arrival, 'suspicion'>,
  { keyOf, signatureOf }: Known,
): string {
  switch (why) {
    case 'suspicion':
      return suspicion!
    case 'conflict':
      return `ERR_IDEMPOTENCY_KEY_REUSED: conflict, its idempotency key is that of entry ${keyOf}, which has another body`
    case 'replay':
      return `ERR_SIGNATURE_REPLAYED: replay, its signature is that of entry ${signatureOf}, which has another idempotency key`
    case 'forgotten':
      return (
        'ERR_TIMESTAMP_OUT_OF_TOLERANCE: forgotten, callbacks that were signed as late as this one have been deleted, and it ' +
        'may be a replay of one of them. Check the clock of this machine'
      )
  }
}
