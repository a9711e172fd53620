/** What an inbox or a store knows of an arriving callback. */
export interface KnownOfArrival {
  /** Whether its idempotency key (of its subscription) is known, and if so, whether with the same body. */
  readonly key: 'unknown' | 'same-body' | 'other-body'
  /** Whether its signature is known, and if so, whether as one of the callback with the same key. */
  readonly signature: 'unknown' | 'same-key' | 'other-key'
  /** Whether a check found something wrong with it, such as a timestamp out of tolerance. */
  readonly isSuspect: boolean
  /** Whether callbacks that were signed at this time or later have been deleted: it may repeat one of them. */
  readonly isForgotten: boolean
}

/**
 * - `new`: nothing like it is known.
 * - `duplicate`: the callback is known. If its signature is not, the signature has to be remembered as well.
 * - `suspicion`: it is suspect by itself.
 * - `conflict`: its key is known with another body.
 * - `replay`: its signature is known under another key.
 * - `forgotten`: it is as old as what was deleted.
 */
export type Recognition = 'new' | 'duplicate' | 'suspicion' | 'conflict' | 'replay' | 'forgotten'

/** Which of several findings about one callback counts. Every inbox and every idempotency store decides by this function. */
export function recognise({ key, signature, isSuspect, isForgotten }: KnownOfArrival): Recognition {
  // An exact copy comes before suspicion: a retry that keeps its timestamp grows too old while its callback is
  // known. A suspect one whose signature is not known proves nothing about the entry with its key, as keys are not signed.
  if (key === 'same-body' && signature === 'same-key') return 'duplicate'
  if (isSuspect) return 'suspicion'
  if (key === 'other-body') return 'conflict'
  if (signature !== 'unknown') return 'replay'
  if (key === 'same-body') return 'duplicate'
  return isForgotten ? 'forgotten' : 'new'
}
