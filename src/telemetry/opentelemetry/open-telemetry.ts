import { performance } from 'node:perf_hooks'
import { trace, type TracerProvider } from '@opentelemetry/api'
import { checkKnownOptions, integerOption, invalidOption, objectOption } from '../../base/option-checks.js'
import { BoundedNames } from '../bounded-names.js'
import { checkObserved, type ObservedProcess } from '../observed-process.js'
import { CallbackSpans } from './callback-spans.js'
import { PerSecondLimit } from './per-second-limit.js'

export interface OpenTelemetryOptions {
  /** Makes the spans. `false`: no spans. @default the provider that is registered with `@opentelemetry/api` */
  readonly tracerProvider?: TracerProvider | false | undefined
  /**
   * Whether the `traceparent` of a verified callback becomes the parent of its span, and its `tracestate` is kept. The service
   * does not sign the header. Whoever holds a captured delivery could write spans into traces of your choosing, and have them
   * sampled. By default the header is only a link.
   * @default false
   */
  readonly trustTraceparent?: boolean | undefined
  /**
   * How many requests that were not verified have a span, per second. Without the limit, a flood of forged requests would keep
   * the spans of genuine callbacks out of the queue of the exporter. At least 0. @default 10
   */
  readonly refusedSpansPerSecond?: number | undefined
  /**
   * How many event types become part of span names and attributes of metrics, from 1 to 1,000; further ones are `other`. The types
   * are those of the subscriptions whose secret matched. @default 100
   */
  readonly maxEventTypes?: number | undefined
}

export interface OpenTelemetry {
  /**
   * Makes spans of what this receiver or worker does. Returns a function that ends it.
   * @throws CountersignError ERR_OPTION_INVALID
   */
  observe(observed: ObservedProcess): () => void
}

/**
 * Traces by the API of OpenTelemetry. docs/opentelemetry.md lists the spans and their attributes. Without a registered SDK it
 * has no effect.
 *
 * @example
 *   openTelemetry().observe(receiver)
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): OpenTelemetry {
  checkKnownOptions(OWNER, options, OPTIONS)
  const { tracerProvider = trace, trustTraceparent = false, refusedSpansPerSecond, maxEventTypes } = options
  if (tracerProvider !== false)
    objectOption(OWNER, 'tracerProvider', tracerProvider, tracerProvider, ['getTracer'])
  if (typeof trustTraceparent !== 'boolean')
    throw invalidOption(OWNER, 'trustTraceparent', trustTraceparent, 'use true or false')
  const perSecond = integerOption(OWNER, 'refusedSpansPerSecond', refusedSpansPerSecond, {
    fallback: 10,
    min: 0,
  })
  const limits = { fallback: 100, min: 1, max: 1_000 }
  const eventTypes = new BoundedNames(integerOption(OWNER, 'maxEventTypes', maxEventTypes, limits))
  const spans =
    tracerProvider === false
      ? undefined
      : new CallbackSpans({
          tracer: tracerProvider.getTracer('countersign'),
          eventTypes,
          trustTraceparent,
          refusedSpans: new PerSecondLimit(perSecond, () => performance.now()),
        })

  return {
    observe(target) {
      const { events } = checkObserved('openTelemetry.observe', target)
      return spans ? spans.observe(events) : () => {}
    },
  }
}

const OWNER = 'openTelemetry'

const OPTIONS = [
  'tracerProvider',
  'trustTraceparent',
  'refusedSpansPerSecond',
  'maxEventTypes',
] as const satisfies readonly (keyof OpenTelemetryOptions)[]
