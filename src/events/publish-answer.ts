import { withoutCredentials } from '../base/without-credentials.js'
import { onlyValue, type CallbackHeaders } from '../callback/callback.js'
import type { Outcome, OutcomeName } from '../callback/outcomes.js'
import type { HeaderValue } from '../signature/credentials.js'
import type { EventChannel } from './event-channel.js'
import type { AnsweredEvent } from './lifecycle-events.js'

/** The event that follows `answered`. */
const FOLLOWING = {
  handled: undefined,
  stored: 'stored',
  duplicate: 'duplicate',
  // It is stored as well, and waits for a handler.
  unhandled: 'stored',
  quarantined: 'quarantined',
  refused: 'refused',
  failed: undefined,
  unavailable: undefined,
} as const satisfies Record<OutcomeName, 'stored' | 'duplicate' | 'quarantined' | 'refused' | undefined>

export function answeredEvent(
  outcome: Outcome,
  headers: Pick<CallbackHeaders, 'idempotencyKey' | 'eventType'>,
  durationMs: number,
): AnsweredEvent {
  return {
    outcome,
    unverified: {
      idempotencyKey: sanitized(headers.idempotencyKey),
      eventType: sanitized(headers.eventType),
    },
    durationMs,
  }
}

/** Publishes the outcome of a request that has been answered. */
export function publishAnswer(
  events: EventChannel,
  outcome: Outcome,
  headers: CallbackHeaders,
  durationMs: number,
): void {
  const following = FOLLOWING[outcome.name]
  const followingIsHeard = following !== undefined && events.has(following)
  if (!followingIsHeard && !events.has('answered')) return
  const event = answeredEvent(outcome, headers, durationMs)
  events.publish('answered', event)
  if (!followingIsHeard) return
  if (following === 'refused') events.publish(following, event)
  // Only a verified callback can be stored or be a duplicate, and only an inbox stores.
  else events.publish(following, { ...event, callback: outcome.callback!, entryId: outcome.entryId! })
}

// Written by an unauthenticated sender: truncated, and without control characters, which a terminal could execute. A proxy may
// have put Authorization into the header.
function sanitized(header: HeaderValue): string | undefined {
  const value = onlyValue(header)
  // Before it is truncated: the start of a signature would not be recognised.
  return (
    value &&
    withoutCredentials(value)
      .slice(0, 100)
      .replace(/[^\x20-\x7e]/g, '?')
  )
}
