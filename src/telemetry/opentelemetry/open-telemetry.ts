import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api'
import type { HasAll } from '../../base/has-all.js'
import { checkKnownOptions, integerOption, invalidOption, objectOption } from '../../base/option-checks.js'
import { windowLimit } from '../../base/window-limit.js'
import { eventTypeLabels } from '../event-type-labels.js'
import { checkObserved, inboxName, type ObservedProcess, type ObserveOptions } from '../observed-process.js'
import { callbackMetrics } from './callback-metrics.js'
import { callbackSpans } from './callback-spans.js'
import { SYSTEM } from './conventions.js'

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Makes the spans. `false`: no spans. @default the provider that is registered with `@opentelemetry/api` */
  readonly tracerProvider?: TracerProvider | false | undefined
  /**
   * Makes the metrics. `false`: no metrics, for example because Prometheus has them. Unlike the provider of spans, it must be
   * registered before this call. @default the provider that is registered with `@opentelemetry/api`
   */
  readonly meterProvider?: MeterProvider | false | undefined
  /**
   * Whether the `traceparent` of a verified callback becomes the parent of its span, and its `tracestate` is kept. By default the
   * header is only a link. The service does not sign this header. With `true`, an attacker who has a captured delivery can choose
   * the trace of the span, and whether it is sampled.
   * @default false
   */
  readonly trustTraceparent?: boolean | undefined
  /**
   * How many requests that were not verified have a span, per second. Without the limit, a flood of forged requests would keep
   * the spans of genuine callbacks out of the queue of the exporter. At least 0. @default 10
   */
  readonly refusedSpansPerSecond?: number | undefined
  /**
   * How many event types become part of span names and attributes of metrics, from 1 to 1,000. Further types are `other`. The types
   * are those of the subscriptions whose secret matched. For metrics, the first call with a provider decides. @default 100
   */
  readonly maxEventTypes?: number | undefined
}

/** Spans and metrics through the API of OpenTelemetry. `openTelemetry` makes it. */
export interface OpenTelemetry {
  /**
   * Makes spans and metrics of this receiver or worker. Returns a function that stops it.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
   */
  observe(observed: ObservedProcess, options?: ObserveOptions): () => void
}

/**
 * Traces and metrics by the API of OpenTelemetry. docs/opentelemetry.md lists the spans, the metrics and their attributes.
 * Without a registered SDK it has no effect.
 *
 * @example
 *   openTelemetry().observe(receiver)
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): OpenTelemetry {
  checkKnownOptions(OWNER, options, OPTIONS)
  const { tracerProvider = trace, meterProvider = metrics, trustTraceparent = false } = options
  const { refusedSpansPerSecond, maxEventTypes } = options
  if (tracerProvider !== false) objectOption(OWNER, 'tracerProvider', tracerProvider, ['getTracer'])
  if (meterProvider !== false) objectOption(OWNER, 'meterProvider', meterProvider, ['getMeter'])
  if (typeof trustTraceparent !== 'boolean')
    throw invalidOption(OWNER, 'trustTraceparent', trustTraceparent, 'use true or false')
  const perSecond = integerOption(OWNER, 'refusedSpansPerSecond', refusedSpansPerSecond, {
    fallback: 10,
    min: 0,
  })
  const eventTypeLabel = eventTypeLabels(OWNER, maxEventTypes)
  const observeSpans =
    tracerProvider === false
      ? undefined
      : callbackSpans({
          tracer: tracerProvider.getTracer(SYSTEM),
          eventTypeLabel,
          trustTraceparent,
          refusedSpans: windowLimit(perSecond, 1_000),
        })
  const observeMetrics =
    meterProvider === false ? undefined : callbackMetrics(meterProvider.getMeter(SYSTEM), eventTypeLabel)

  return {
    observe(target, observeOptions = {}) {
      const observed = checkObserved(OBSERVE, target)
      const inbox = inboxName(OBSERVE, observeOptions)
      const ends = [observeSpans?.(observed.events), observeMetrics?.(observed, inbox)]
      return () => {
        for (const end of ends) end?.()
      }
    },
  }
}

const OWNER = 'openTelemetry'
const OBSERVE = 'openTelemetry.observe'

const OPTIONS = [
  'tracerProvider',
  'meterProvider',
  'trustTraceparent',
  'refusedSpansPerSecond',
  'maxEventTypes',
] as const satisfies readonly (keyof OpenTelemetryOptions)[]
void (true satisfies HasAll<keyof OpenTelemetryOptions, typeof OPTIONS>)
