import { openTelemetry, type OpenTelemetryOptions } from '../../../src/opentelemetry.js'
import { runInboxReceiver } from '../../support/running-inbox-receiver.js'
import { runReceiver, subscription, type genuine } from '../../support/running-receiver.js'
import { recordSpans, type RecordedSpans } from './recorded-spans.js'

export const TYPE = subscription.eventTypeName

export const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** The attributes that each span of a verified callback has. */
export function message(callback: ReturnType<typeof genuine>, operation: string, type = operation) {
  return {
    'messaging.system': 'countersign',
    'messaging.operation.name': operation,
    'messaging.operation.type': type,
    'messaging.destination.name': TYPE,
    'messaging.message.id': callback.headers['X-Idempotency-Key'],
    'messaging.message.body.size': callback.body.length,
  }
}

export function observeWith(spans: RecordedSpans, options: OpenTelemetryOptions = {}) {
  return openTelemetry({ tracerProvider: spans.tracerProvider, ...options })
}

/** A receiver that handles before the answer, with the spans of what it does. */
export async function observedReceiver(
  options: Parameters<typeof runReceiver>[0] = {},
  given: OpenTelemetryOptions = {},
) {
  const spans = recordSpans()
  const running = await runReceiver(options)
  const end = observeWith(spans, given).observe(running.receiver)
  return { ...running, spans, end }
}

/** The same with an inbox. */
export async function observedInboxReceiver(options: Parameters<typeof runInboxReceiver>[0] = {}) {
  const spans = recordSpans()
  const running = await runInboxReceiver({ retryDelayMs: 1, ...options })
  const end = observeWith(spans).observe(running.receiver)
  return { ...running, spans, end }
}
