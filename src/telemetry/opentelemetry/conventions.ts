import type { OutcomeName } from '../../callback/outcomes.js'

/** `messaging.system` of spans and metrics. */
export const SYSTEM = 'countersign'

/** Whether an outcome means that the operation has failed, so that it has an `error.type`. */
export function isFailure(outcome: OutcomeName): boolean {
  return outcome === 'refused' || outcome === 'failed' || outcome === 'unavailable'
}
