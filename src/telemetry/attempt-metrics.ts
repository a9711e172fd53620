import type { VerifiedCallback } from '../callback/callback.js'
import type { ReceiverEvents } from '../events/event-channel.js'
import type { AttemptEvent } from '../events/lifecycle-events.js'
import { ageMs } from './clock-skew.js'
import type { EventTypeLabel } from './event-type-labels.js'
import { Counter, Histogram, type Metric } from './instruments.js'

/** What is known when an attempt to handle a callback has ended, and of what operators do. */
export class AttemptMetrics {
  readonly #attempts = new Counter({
    name: 'countersign_attempts_total',
    help: 'Attempts to handle a callback that have ended, by result: handled, failed, dead or lease_lost.',
    labels: ['result', 'event_type', 'code'],
  })
  readonly #durations = new Histogram({
    name: 'countersign_attempt_duration_seconds',
    help: 'Time from the claim of a callback to the record of its end; the handlers run within it.',
    labels: ['result', 'event_type'],
    limits: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  })
  readonly #ages = new Histogram({
    name: 'countersign_signed_to_handled_seconds',
    help: 'Time from the signature of a callback to the record that it was handled, by two clocks.',
    labels: ['event_type'],
    limits: [1, 2, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400],
  })
  readonly #actions = new Counter({
    name: 'countersign_operator_actions_total',
    help: 'What operators did with the inbox in this process.',
    labels: ['action'],
  })
  readonly metrics: Metric[] = [this.#attempts, this.#durations, this.#ages, this.#actions]
  readonly #eventTypeLabel: EventTypeLabel

  constructor(eventTypeLabel: EventTypeLabel) {
    this.#eventTypeLabel = eventTypeLabel
  }

  observe(events: ReceiverEvents): () => void {
    const ends = [
      events.on('handled', (event) => {
        this.#add('handled', '', event)
        this.#ages.observe(ageMs(event.callback.signedAt) / 1000, this.#typeOf(event.callback))
      }),
      events.on('failed', (event) => this.#add('failed', event.code, event)),
      events.on('dead', (event) => this.#add('dead', event.code, event)),
      events.on('leaseLost', (event) => this.#add('lease_lost', '', event)),
      events.on('decided', ({ action }) => this.#actions.add(1, action)),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  #add(result: string, code: string, { callback, durationMs }: AttemptEvent): void {
    const eventType = this.#typeOf(callback)
    this.#attempts.add(1, result, eventType, code)
    this.#durations.observe(durationMs / 1000, result, eventType)
  }

  // Not `callback.type`: the header is not signed. A captured delivery could be replayed with any event type.
  #typeOf({ subscription }: VerifiedCallback): string {
    return this.#eventTypeLabel(subscription.eventTypeName)
  }
}
