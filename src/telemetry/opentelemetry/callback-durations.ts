import { performance } from 'node:perf_hooks'
import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'
import { isPending, type MaybePending } from '../../base/pending.js'
import type { VerifiedCallback } from '../../callback/callback.js'
import type { EventSource } from '../../events/event-channel.js'
import type { AnsweredEvent, AttemptEvent } from '../../events/lifecycle-events.js'
import type { SettleStep } from '../../events/steps.js'
import type { BoundedNames } from '../bounded-names.js'
import { isFailure, SYSTEM } from './conventions.js'

/** The bucket boundaries that the convention requires, in seconds. */
const LIMITS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const AGE_LIMITS = [1, 2, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400]

/**
 * Metrics by the messaging conventions of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-metrics). Of an unverified request only the code becomes an
 * attribute, because an unauthenticated sender chooses everything else.
 */
export class CallbackDurations {
  readonly #eventTypes: BoundedNames
  readonly #clock: () => number
  readonly #operations: Histogram
  readonly #attempts: Histogram
  readonly #consumed: Counter
  readonly #ages: Histogram

  constructor(meter: Meter, eventTypes: BoundedNames, clock: () => number) {
    this.#eventTypes = eventTypes
    this.#clock = clock
    this.#operations = meter.createHistogram('messaging.client.operation.duration', {
      description:
        'Time from the headers of a request to its answer, and time to record the end of an attempt.',
      unit: 's',
      advice: { explicitBucketBoundaries: LIMITS },
    })
    this.#attempts = meter.createHistogram('messaging.process.duration', {
      description: 'Time from the claim of a callback to the record of its end; the handlers run within it.',
      unit: 's',
      advice: { explicitBucketBoundaries: LIMITS },
    })
    this.#consumed = meter.createCounter('messaging.client.consumed.messages', {
      description: 'Callbacks that were given to handlers, once for each attempt.',
      unit: '{message}',
    })
    this.#ages = meter.createHistogram('countersign.signed_to_handled.duration', {
      description: 'Time from the signature of a callback to the record that it was handled, by two clocks.',
      unit: 's',
      advice: { explicitBucketBoundaries: AGE_LIMITS },
    })
  }

  observe(events: EventSource): () => void {
    const ends = [
      events.subscribe('answered', (event) => this.#answered(event)),
      events.around('settle', (step, next) => this.#settle(step, next)),
      events.subscribe('handled', (event) => this.#handled(event)),
      events.subscribe('failed', (event) => this.#attempted(event, event.code)),
      events.subscribe('dead', (event) => this.#attempted(event, event.code)),
      events.subscribe('leaseLost', (event) => this.#attempted(event, 'ERR_CLAIM_LOST')),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  #answered({ outcome: { callback, code, outcome }, durationMs }: AnsweredEvent): void {
    const error = isFailure(outcome) ? code : undefined
    this.#operations.record(durationMs / 1_000, this.#attributes('receive', 'receive', callback, error))
  }

  #settle({ callback, move }: SettleStep, next: () => MaybePending<unknown>): void {
    const startedAt = performance.now()
    const recording = next()
    // A store in memory ends immediately, so there is nothing to measure.
    if (!isPending(recording)) return
    const end = (error?: string) => {
      const attributes = this.#attributes(move, 'settle', callback, error)
      this.#operations.record((performance.now() - startedAt) / 1_000, attributes)
    }
    recording.then(
      (held) => end(held === false ? 'ERR_CLAIM_LOST' : undefined),
      () => end('_OTHER'),
    )
  }

  #handled(event: AttemptEvent): void {
    this.#attempted(event)
    const { signedAt, subscription } = event.callback
    const destination = this.#eventTypes.of(subscription.eventTypeName)
    this.#ages.record((this.#clock() - signedAt.getTime()) / 1_000, {
      'messaging.destination.name': destination,
    })
  }

  #attempted({ callback, durationMs }: AttemptEvent, error?: string): void {
    const attributes = this.#attributes('process', 'process', callback, error)
    this.#attempts.record(durationMs / 1_000, attributes)
    this.#consumed.add(1, attributes)
  }

  #attributes(name: string, type: string, callback?: VerifiedCallback, error?: string): Attributes {
    const attributes: Attributes = {
      'messaging.system': SYSTEM,
      'messaging.operation.name': name,
      'messaging.operation.type': type,
    }
    // `callback.type` is not used, because it comes from a header that is not signed.
    if (callback) {
      attributes['messaging.destination.name'] = this.#eventTypes.of(callback.subscription.eventTypeName)
    }
    if (error !== undefined) attributes['error.type'] = error
    return attributes
  }
}
