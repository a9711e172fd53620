// What metrics and traces do, as modes of one process. Two processes that run the same program differ by more than 2 percent, and they
// differ the whole time. So what metrics and traces cost is measured within one process that turns them on and off.
import { context, createContextKey, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { AlwaysOffSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { openTelemetry } from 'countersign/opentelemetry'
import { prometheusMetrics } from 'countersign/prometheus'
import { subscription } from '../receiver/requests.mjs'

/** What most requests of a production set-up with head sampling are. */
const NOT_SAMPLED = { sampler: new AlwaysOffSampler() }
const OWN_KEY = createContextKey('bench')

const runAtOnce = (work) => work()

export function telemetryModes(receiver) {
  let around = runAtOnce
  /** By name, what turns it on. It returns the function that turns it off. */
  const modes = {
    off: () => () => {},
    'off, once more': () => () => {},
    Prometheus: () => prometheusMetrics().observe(receiver),
    'metrics of OpenTelemetry': () =>
      openTelemetry({ meterProvider: new MeterProvider(), tracerProvider: false }).observe(receiver),
    // Any instrumentation of requests does this, with a span in the context.
    'one context.with': () => surround((work) => context.with(ROOT_CONTEXT.setValue(OWN_KEY, 1), work)),
    'by hand: two spans': () => surround(spansByHand(provider())),
    'by hand: two spans, not sampled': () => surround(spansByHand(provider(NOT_SAMPLED))),
    traces: () => traced(provider()),
    'traces, not sampled': () => traced(provider(NOT_SAMPLED)),
    'traces without a context manager': () => openTelemetry(tracesOf(provider())).observe(receiver),
  }

  function traced(tracerProvider) {
    const off = [registerContextManager(), openTelemetry(tracesOf(tracerProvider)).observe(receiver)]
    return () => off.forEach((end) => end())
  }

  function surround(run) {
    const unregister = registerContextManager()
    around = run
    return () => {
      around = runAtOnce
      unregister()
    }
  }

  let turnOff = () => {}
  return {
    names: Object.keys(modes),
    choose(name) {
      turnOff()
      turnOff = modes[name]()
    },
    /** Runs the work of one callback. `whenEnded` gets a function to call at its end, if the mode needs that. */
    run: (work, whenEnded) => around(work, whenEnded),
  }
}

function tracesOf(tracerProvider) {
  return { tracerProvider, meterProvider: false }
}

/** As the SDK for Node registers it. */
function registerContextManager() {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
}

/** The SDK with an exporter that does nothing. */
function provider(options) {
  const exporter = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {} }
  return new BasicTracerProvider({ ...options, spanProcessors: [new BatchSpanProcessor(exporter)] })
}

/** The least with which a handler runs in a span, and the request in another one. */
function spansByHand(tracerProvider) {
  const tracer = tracerProvider.getTracer('bench')
  const start = (operation, parent) =>
    tracer.startSpan(
      `${operation} ${subscription.eventTypeName}`,
      { kind: SpanKind.CONSUMER, attributes: attributesOf(operation) },
      parent,
    )
  return (work, whenEnded) => {
    const receive = start('receive', context.active())
    const within = trace.setSpan(context.active(), receive)
    const process = start('process', within)
    whenEnded(() => {
      process.end()
      receive.end()
    })
    context.with(trace.setSpan(within, process), work)
  }
}

/** As many as Countersign sets. */
function attributesOf(operation) {
  return {
    'messaging.system': 'countersign',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': subscription.eventTypeName,
    'messaging.message.id': '9b0c1f0e-8d0f-4a6e-9f6b-3c6a0d2b7f11',
    'messaging.message.body.size': 300,
  }
}
