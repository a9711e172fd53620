import { performance } from 'node:perf_hooks'
import { withoutCredentials } from '../base/without-credentials.js'
import { onlyValue, type CallbackRequest } from '../callback/callback.js'
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

/** A request that has been answered. Nothing in it is verified unless `outcome.callback` is set. */
export interface AnsweredRequest {
  readonly request: CallbackRequest
  readonly outcome: Outcome
  /** From the headers of the request to the answer, in milliseconds. */
  readonly durationMs: number
}

export function answeredNow(request: CallbackRequest, outcome: Outcome): AnsweredRequest {
  return { request, outcome, durationMs: performance.now() - request.arrivedAt }
}

export function answeredEvent({ request, outcome, durationMs }: AnsweredRequest): AnsweredEvent {
  const { headers } = request
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
export function publishAnswer(events: EventChannel, answered: AnsweredRequest): void {
  const { outcome } = answered
  const following = FOLLOWING[outcome.name]
  const followingIsHeard = following !== undefined && events.has(following)
  if (!followingIsHeard && !events.has('answered')) return
  const event = answeredEvent(answered)
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
