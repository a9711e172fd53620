// A mounted receiver whose metrics and traces a message turns on and off. Two processes that run the same program differ by more than
// 2 percent, and they differ the whole time. So what metrics and traces cost is measured within one process.
import { createServer } from 'node:http'
import { context, createContextKey, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { AlwaysOffSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import express from 'express'
import { createReceiver } from 'countersign'
import { openTelemetry } from 'countersign/opentelemetry'
import { prometheusMetrics } from 'countersign/prometheus'
import { path, subscription } from '../receiver/requests.mjs'

/** What most requests of a production set-up with head sampling are. */
const NOT_SAMPLED = { sampler: new AlwaysOffSampler() }
const OWN_KEY = createContextKey('bench')

let handled = 0
const receiver = createReceiver({ subscriptions: [subscription], logger: false })
receiver.on(subscription.eventTypeName, () => void handled++)

const runAtOnce = (next) => next()
let around = runAtOnce
const app = express()
app.post(path, (_request, response, next) => around(next, response), receiver.middleware())

/** By name, what turns it on. It returns the function that turns it off. */
const MODES = {
  off: () => () => {},
  'off, once more': () => () => {},
  Prometheus: () => prometheusMetrics().observe(receiver),
  'metrics of OpenTelemetry': () =>
    openTelemetry({ meterProvider: new MeterProvider(), tracerProvider: false }).observe(receiver),
  // Any instrumentation of requests does this, with a span in the context.
  'one context.with': () => surround((next) => context.with(ROOT_CONTEXT.setValue(OWN_KEY, 1), next)),
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

function tracesOf(tracerProvider) {
  return { tracerProvider, meterProvider: false }
}

function surround(run) {
  const unregister = registerContextManager()
  around = run
  return () => {
    around = runAtOnce
    unregister()
  }
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
  return (next, response) => {
    const receive = start('receive', context.active())
    const within = trace.setSpan(context.active(), receive)
    const process = start('process', within)
    response.on('finish', () => {
      process.end()
      receive.end()
    })
    context.with(trace.setSpan(within, process), next)
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

const server = createServer(app)
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, modes: Object.keys(MODES) }))

let turnOff = () => {}
let before = process.cpuUsage()
process.on('message', ({ mode }) => {
  if (mode !== undefined) {
    turnOff()
    turnOff = MODES[mode]()
  }
  const { user, system } = process.cpuUsage(before)
  process.send({ handled, cpuSeconds: (user + system) / 1e6 })
  handled = 0
  before = process.cpuUsage()
})
