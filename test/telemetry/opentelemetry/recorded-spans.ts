import { context, SpanKind, SpanStatusCode, type SpanContext } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace-base'
import { until } from '../../support/until.js'

export interface RecordedSpans {
  readonly tracerProvider: BasicTracerProvider
  /** In the order in which they ended. */
  all(): ReadableSpan[]
  /** Waits for the spans with this name, and returns the last one. */
  named(name: string, count?: number): Promise<ReadableSpan>
}

/** The real SDK, with an exporter that keeps the spans. */
export function recordSpans(sampler?: Sampler): RecordedSpans {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor(exporter)]
  const tracerProvider = new BasicTracerProvider({ spanProcessors, ...(sampler && { sampler }) })
  const withName = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)
  return {
    tracerProvider,
    all: () => exporter.getFinishedSpans(),
    async named(name, count = 1) {
      await until(() => withName(name).length >= count)
      return withName(name)[count - 1]!
    },
  }
}

/** Registers the context manager of the SDK for the tests of a file. */
export function useContextManager(): void {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterAll(() => context.disable())
}

/** What is compared of a span. */
export function described(span: ReadableSpan) {
  const { name, kind, attributes, status } = span
  return {
    name,
    kind: SpanKind[kind],
    attributes,
    status: SpanStatusCode[status.code],
    links: span.links.map((link) => idOf(link.context)),
    parent: span.parentSpanContext && idOf(span.parentSpanContext),
  }
}

export function idOf({ traceId, spanId }: SpanContext): string {
  return `${traceId}-${spanId}`
}

/** How a parent or a link names the span. */
export function idOfSpan(span: Pick<ReadableSpan, 'spanContext'>): string {
  return idOf(span.spanContext())
}
