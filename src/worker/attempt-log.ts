import type { EventChannel } from '../events/event-channel.js'
import type { AttemptEvent } from '../events/lifecycle-events.js'
import type { ClaimEnd } from '../inbox/engine.js'
import { isWritten } from '../logging/guarded-logger.js'
import type { Logger } from '../logging/logger.js'

/** Writes one line for the end of each attempt. */
export function logAttempts(events: EventChannel, logger: Logger): void {
  if (isWritten(logger, 'info'))
    events.on('handled', (event) => logger.info(attemptFields(event, 'complete'), 'entry handled'))
  events.on('failed', ({ error, retryInMs, ...event }) => {
    const fields = { ...attemptFields(event, 'reschedule'), delayMs: retryInMs, err: error }
    logger.warn(fields, 'entry failed, to be retried')
  })
  events.on('dead', ({ error, reason, ...event }) => {
    const why = error === undefined ? { error: reason } : { err: error }
    logger.error({ ...attemptFields(event, 'deadLetter'), ...why }, 'entry is a dead letter')
  })
  events.on('leaseLost', ({ error, ...event }) => {
    const fields = {
      ...attemptFields(event),
      code: 'WARN_LEASE_LOST',
      ...(error !== undefined && { err: error }),
    }
    logger.warn(fields, 'a lease was lost: the end of the entry was not recorded, and it is handled again')
  })
}

export function attemptFields(
  { entryId, callback, attempt, durationMs }: AttemptEvent,
  move?: ClaimEnd['move'],
): object {
  const { idempotencyKey, type } = callback
  return { entryId, idempotencyKey, eventType: type, attempt, durationMs: Math.round(durationMs), move }
}
