import type { ClaimEnd } from './inbox.js'
import type { AttemptResult } from './operations.js'

/** How many attempts of an entry are kept. An entry can be retried by a person without end. */
export const ATTEMPTS_KEPT = 50

/** The result of an attempt by the end of its claim. */
export const ATTEMPT_RESULT = {
  complete: 'handled',
  reschedule: 'retrying',
  deadLetter: 'dead',
  handBack: 'handedBack',
} as const satisfies Record<ClaimEnd['move'], AttemptResult>
