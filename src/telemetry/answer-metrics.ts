import { performance } from 'node:perf_hooks'
import { LatestMap } from '../base/latest-map.js'
import type { VerifiedCallback } from '../callback/callback.js'
import type { OutcomeName } from '../callback/outcomes.js'
import type { ReceiverEvents } from '../events/event-channel.js'
import type { AnsweredEvent } from '../events/lifecycle-events.js'
import { ClockSkew } from './clock-skew.js'
import type { EventTypeLabel } from './event-type-labels.js'
import { Counter, Gauge, Histogram, type Metric } from './instruments.js'

/** How many secrets have a time of their last callback. Above the limit, one that verified no callback for long is forgotten. */
const MAX_SECRETS = 1_000

const OUTCOME_NAMES = Object.keys({
  handled: true,
  stored: true,
  duplicate: true,
  unhandled: true,
  quarantined: true,
  refused: true,
  failed: true,
  unavailable: true,
} satisfies Record<OutcomeName, true>)

/**
 * What is known when a request has been answered. Only the outcome and the code of an unverified request become labels, because
 * an unauthenticated sender chooses everything else.
 */
export class AnswerMetrics {
  readonly #callbacks = new Counter({
    name: 'countersign_callbacks_total',
    help: 'Requests that were answered. Only verified callbacks have an event type.',
    labels: ['outcome', 'code', 'event_type'],
  })
  readonly #durations = new Histogram({
    name: 'countersign_answer_duration_seconds',
    help: 'Time from the headers of a request to its answer.',
    labels: ['outcome'],
    limits: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  })
  readonly #bytes = new Histogram({
    name: 'countersign_callback_body_bytes',
    help: 'Size of the bodies of verified callbacks.',
    limits: [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576],
  })
  readonly #skew = new ClockSkew(() => performance.now())
  readonly #secrets = new LatestMap<string, SecretUse>(MAX_SECRETS)
  readonly #eventTypeLabel: EventTypeLabel

  constructor(eventTypeLabel: EventTypeLabel) {
    this.#eventTypeLabel = eventTypeLabel
    // Prometheus sees no increase in a series that begins with 1. An alert would miss the first failure of a process.
    for (const name of OUTCOME_NAMES) this.#durations.series(name)
  }

  get metrics(): Metric[] {
    const skew = {
      name: 'countersign_clock_skew_seconds',
      help: 'How far the clock of this machine is ahead of that of the service, at most; by recent verified callbacks.',
    }
    const secrets = {
      name: 'countersign_secret_last_verified_timestamp_seconds',
      help: 'When a secret last verified a callback, by the fingerprint of the secret; in seconds since 1970.',
    }
    return [
      this.#callbacks,
      this.#durations,
      this.#bytes,
      new Gauge(skew, () => {
        const { ms } = this.#skew
        return ms === undefined ? [] : [{ labels: {}, value: ms / 1000 }]
      }),
      new Gauge(secrets, () =>
        [...this.#secrets].map(([secret, { eventType, at }]) => ({
          labels: { secret, event_type: eventType },
          value: at / 1000,
        })),
      ),
    ]
  }

  observe(events: ReceiverEvents): () => void {
    return events.on('answered', (event) => this.#add(event))
  }

  #add({ outcome, durationMs }: AnsweredEvent): void {
    const { callback } = outcome
    const eventType = callback ? this.#eventTypeLabel(callback.subscription.eventTypeName) : ''
    this.#callbacks.add(1, outcome.name, outcome.code, eventType)
    this.#durations.observe(durationMs / 1000, outcome.name)
    if (!callback) return
    this.#bytes.observe(callback.rawBody.length)
    this.#skew.add(callback.signedAt, callback.receivedAt)
    this.#addSecret(callback, eventType)
  }

  #addSecret({ secretFingerprint, receivedAt }: VerifiedCallback, eventType: string): void {
    const known = this.#secrets.get(secretFingerprint)
    const at = receivedAt.getTime()
    // Setting it again makes it the last one, which takes longer and matters only at the limit.
    if (known && this.#secrets.size < MAX_SECRETS) known.at = at
    // The first event type, because two subscriptions may share a secret.
    else this.#secrets.set(secretFingerprint, { eventType: known?.eventType ?? eventType, at })
  }
}

interface SecretUse {
  readonly eventType: string
  at: number
}
