import { performance } from 'node:perf_hooks'
import type { Attributes, Meter } from '@opentelemetry/api'
import { isPending, type MaybePending } from '../../base/pending.js'
import type { VerifiedCallback } from '../../callback/callback.js'
import type { StepEvents } from '../../events/event-channel.js'
import type { AnsweredEvent, AttemptEvent } from '../../events/lifecycle-events.js'
import { AROUND, type SettleStep } from '../../events/steps.js'
import { ageMs } from '../clock-skew.js'
import type { EventTypeLabel } from '../event-type-labels.js'
import { isFailure, SYSTEM } from './conventions.js'

/** The bucket boundaries that the convention requires, in seconds. */
const LIMITS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const AGE_LIMITS = [1, 2, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400]

/**
 * Metrics by the messaging conventions of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-metrics). Only the code of an unverified request becomes an
 * attribute, because an unauthenticated sender chooses everything else. Returns a function that observes a receiver or a worker, and
 * returns what ends that.
 */
export function callbackDurations(
  meter: Meter,
  eventTypeLabel: EventTypeLabel,
): (events: StepEvents) => () => void {
  const operations = meter.createHistogram('messaging.client.operation.duration', {
    description:
      'Time from the headers of a request to its answer, and time to record the end of an attempt.',
    unit: 's',
    advice: { explicitBucketBoundaries: LIMITS },
  })
  const attempts = meter.createHistogram('messaging.process.duration', {
    description: 'Time from the claim of a callback to the record of its end; the handlers run within it.',
    unit: 's',
    advice: { explicitBucketBoundaries: LIMITS },
  })
  const consumed = meter.createCounter('messaging.client.consumed.messages', {
    description: 'Callbacks that were given to handlers, once for each attempt.',
    unit: '{message}',
  })
  const ages = meter.createHistogram('countersign.signed_to_handled.duration', {
    description: 'Time from the signature of a callback to the record that it was handled, by two clocks.',
    unit: 's',
    advice: { explicitBucketBoundaries: AGE_LIMITS },
  })

  return (events) => {
    const ends = [
      events.on('answered', onAnswered),
      events[AROUND]('settle', onSettle),
      events.on('handled', onHandled),
      events.on('failed', (event) => addAttempt(event, event.code)),
      events.on('dead', (event) => addAttempt(event, event.code)),
      events.on('leaseLost', (event) => addAttempt(event, 'ERR_CLAIM_LOST')),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  function onAnswered({ outcome: { callback, code, name }, durationMs }: AnsweredEvent): void {
    const error = isFailure(name) ? code : undefined
    operations.record(durationMs / 1_000, attributesOf('receive', 'receive', callback, error))
  }

  function onSettle({ callback, move }: SettleStep, next: () => MaybePending<unknown>): MaybePending<void> {
    const startedAt = performance.now()
    const recording = next()
    // A store in memory ends immediately, so there is nothing to measure.
    if (!isPending(recording)) return undefined
    const end = (error?: string) => {
      const attributes = attributesOf(move, 'settle', callback, error)
      operations.record((performance.now() - startedAt) / 1_000, attributes)
    }
    return recording.then(
      (held) => end(held === false ? 'ERR_CLAIM_LOST' : undefined),
      () => end('_OTHER'),
    )
  }

  function onHandled(event: AttemptEvent): void {
    addAttempt(event)
    const { signedAt, subscription } = event.callback
    const destination = eventTypeLabel(subscription.eventTypeName)
    ages.record(ageMs(signedAt) / 1_000, {
      'messaging.destination.name': destination,
    })
  }

  function addAttempt({ callback, durationMs }: AttemptEvent, error?: string): void {
    const attributes = attributesOf('process', 'process', callback, error)
    attempts.record(durationMs / 1_000, attributes)
    consumed.add(1, attributes)
  }

  function attributesOf(name: string, type: string, callback?: VerifiedCallback, error?: string): Attributes {
    const attributes: Attributes = {
      'messaging.system': SYSTEM,
      'messaging.operation.name': name,
      'messaging.operation.type': type,
    }
    // `callback.type` is not used, because it comes from a header that is not signed.
    if (callback) {
      attributes['messaging.destination.name'] = eventTypeLabel(callback.subscription.eventTypeName)
    }
    if (error !== undefined) attributes['error.type'] = error
    return attributes
  }
}
