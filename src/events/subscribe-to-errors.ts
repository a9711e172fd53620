import { CountersignError } from '../base/errors.js'
import { attemptOutcome, OUTCOMES, type Outcome } from '../callback/outcomes.js'
import type { EventChannel } from './event-channel.js'
import type { FailedEvent } from './lifecycle-events.js'

type ErrorListener = (error: unknown, outcome: Outcome) => void

/** Calls `listener` for each error that kept a callback from being handled. */
export function subscribeToErrors(events: EventChannel, listener: ErrorListener): void {
  events.on('answered', ({ outcome }) => {
    if (outcome.name !== 'failed' && outcome.name !== 'unavailable') return undefined
    // Listeners raise alarms. An unauthenticated sender must not be able to raise one.
    if (!outcome.callback && outcome.error === undefined) return undefined
    return listener(outcome.error ?? new CountersignError(outcome.code, outcome.reason), outcome)
  })
  const reportAttempt = ({ code, error, reason, entryId, ...event }: FailedAttempt) => {
    // Without an inbox the answer reports the failure.
    if (entryId === undefined) return undefined
    return listener(
      error ?? new CountersignError(code, reason),
      attemptOutcome(code, { ...event, entryId }, error),
    )
  }
  events.on('failed', (event) => reportAttempt({ ...event, reason: OUTCOMES[event.code].reason }))
  events.on('dead', reportAttempt)
}

type FailedAttempt = Pick<FailedEvent, 'code' | 'error' | 'entryId' | 'callback' | 'attempt'> & {
  readonly reason: string
}
