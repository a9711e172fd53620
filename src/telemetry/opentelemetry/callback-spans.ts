import { performance } from 'node:perf_hooks'
import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  type Context,
  type Link,
  type Span,
  type SpanOptions,
  type Tracer,
  type Attributes,
} from '@opentelemetry/api'
import { isPending, type MaybePending } from '../../base/pending.js'
import { type StoredCallback, type VerifiedCallback, ownSubscriptionId } from '../../callback/callback.js'
import type { Outcome } from '../../callback/outcomes.js'
import type { StepEvents } from '../../events/event-channel.js'
import type { AnsweredEvent } from '../../events/lifecycle-events.js'
import {
  AROUND,
  type AcceptStep,
  type AttemptResult,
  type AttemptStep,
  type SettleStep,
} from '../../events/steps.js'
import type { EventTypeLabel } from '../event-type-labels.js'
import { endProcess, endReceive, endSettle } from './span-ends.js'
import { StepContexts } from './step-contexts.js'
import { parseStoredTraceContext, parseTraceContext, storedTraceContext } from './trace-context.js'
import { SYSTEM } from './conventions.js'

interface SpanParts {
  readonly tracer: Tracer
  readonly eventTypeLabel: EventTypeLabel
  /** Whether an incoming traceparent becomes the parent. */
  readonly trustTraceparent: boolean
  /** Whether one more request that was not verified has a span. */
  readonly refusedSpans: () => boolean
}

/** Where a span belongs. */
interface Origin {
  readonly parent: Context
  readonly links: Link[]
}

/**
 * Spans by the messaging conventions of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans): `receive` for a request, `process` for an attempt, and
 * within `process` a span for the record of its end. Returns a function that observes a receiver or a worker, and returns what ends
 * that.
 */
export function callbackSpans({
  tracer,
  eventTypeLabel,
  trustTraceparent,
  refusedSpans,
}: SpanParts): (events: StepEvents) => () => void {
  const receiving = new StepContexts()
  const processing = new StepContexts()

  return (events) => {
    const ends = [
      events[AROUND]('accept', onAccept),
      events[AROUND]('attempt', onAttempt),
      events[AROUND]('settle', onSettle),
      events.on('answered', onAnswered),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  function onAccept(step: AcceptStep, next: () => MaybePending<Outcome>): MaybePending<void> {
    const { callback, arrivedAt } = step
    const ambient = context.active()
    const { parent, links } = originOf(step, ambient)
    const attributes = messageAttributes('receive', 'receive', callback)
    const options = { kind: SpanKind.CONSUMER, attributes, startTime: arrivedAt, links }
    const span = startSpan('receive', callback, options, parent)
    const within = trace.setSpan(parent, span)
    step.traceContext = storedTraceContext(span.spanContext())
    return receiving.run(
      callback,
      within,
      next,
      (outcome) => endReceive(span, outcome),
      () => endReceive(span, { code: 'ERR_INTERNAL', name: 'failed' }),
    )
  }

  /** The parent and the links of the receive span. If the sender is not trusted, its traceparent is only a link. */
  function originOf(step: AcceptStep, ambient: Context): Origin {
    const traceparents = step.headerValues('traceparent')
    // If there are several, the header does not say which one applies.
    const [traceparent] = traceparents.length === 1 ? traceparents : []
    if (traceparent === undefined) return { parent: ambient, links: [] }
    const tracestate = trustTraceparent ? step.headerValues('tracestate').join(',') : ''
    const sender = parseTraceContext(traceparent, tracestate)
    if (!sender) return { parent: ambient, links: [] }
    if (!trustTraceparent) return { parent: ambient, links: [{ context: sender }] }
    const surrounding = trace.getSpanContext(ambient)
    const links = surrounding ? [{ context: sender }, { context: surrounding }] : [{ context: sender }]
    return { parent: trace.setSpanContext(ambient, sender), links }
  }

  function onAttempt(step: AttemptStep, next: () => MaybePending<AttemptResult>): MaybePending<void> {
    const { callback, entryId, attempt } = step
    const { parent, links } =
      entryId === undefined ? { parent: receiving.of(callback), links: [] } : afterRequest(callback)
    const attributes = messageAttributes('process', 'process', callback)
    const span = startSpan('process', callback, { kind: SpanKind.CONSUMER, attributes, links }, parent)
    // Not at the start: the SDK copies the attributes of the start three times.
    span.setAttribute('countersign.attempt', attempt)
    if (entryId !== undefined) span.setAttribute('countersign.entry.id', entryId)
    const within = trace.setSpan(parent, span)
    return processing.run(
      callback,
      within,
      next,
      (result) => endProcess(span, result),
      (error) => endProcess(span, { code: 'ERR_INTERNAL', error }),
    )
  }

  function onSettle(step: SettleStep, next: () => MaybePending<unknown>): MaybePending<void> {
    const { callback, move } = step
    const startTime = performance.now()
    const recording = next()
    // A store in memory ends immediately, so a span would show nothing.
    if (!isPending(recording)) return undefined
    const parent = processing.of(callback)
    const attributes = messageAttributes(move, 'settle', callback)
    const span = startSpan(move, callback, { kind: SpanKind.CLIENT, attributes, startTime }, parent)
    return recording.then(
      (held) => endSettle(span, held === false ? 'ERR_CLAIM_LOST' : undefined),
      () => endSettle(span, '_OTHER'),
    )
  }

  /** Makes the span of a request that had no `accept` step. Most such requests are unauthenticated, so their spans are limited. */
  function onAnswered({ outcome, durationMs }: AnsweredEvent): void {
    const { callback, code } = outcome
    // The only outcome of a verified callback without that step.
    if (callback ? code !== 'ERR_SHUTTING_DOWN' : !refusedSpans()) return
    const startTime = performance.now() - durationMs
    const attributes = messageAttributes('receive', 'receive', callback)
    const options = { kind: SpanKind.CONSUMER, attributes, startTime }
    endReceive(startSpan('receive', callback, options, context.active()), outcome)
  }

  function startSpan(
    operation: string,
    callback: VerifiedCallback | undefined,
    options: SpanOptions,
    parent: Context,
  ): Span {
    // `callback.type` is not used, because it comes from a header that is not signed.
    const destination = callback && eventTypeLabel(callback.subscription.eventTypeName)
    const name = destination === undefined ? operation : `${operation} ${destination}`
    return tracer.startSpan(name, options, parent)
  }
}

/** A worker may handle the entry hours later in another process. So the attempt has its own trace, with a link to the request. */
function afterRequest(callback: VerifiedCallback): Origin {
  const { traceContext } = callback as StoredCallback
  const received = traceContext === undefined ? undefined : parseStoredTraceContext(traceContext)
  return { parent: ROOT_CONTEXT, links: received ? [{ context: received }] : [] }
}

/**
 * The attributes that a span has from its start, so that samplers see them. An unverified request adds no values of its own. Each kind
 * of span has one literal: adding the properties one by one takes longer.
 */
function messageAttributes(
  operation: string,
  type: string,
  callback: VerifiedCallback | undefined,
): Attributes {
  if (!callback)
    return {
      'messaging.system': SYSTEM,
      'messaging.operation.name': operation,
      'messaging.operation.type': type,
    }
  const attributes: Attributes = {
    'messaging.system': SYSTEM,
    'messaging.operation.name': operation,
    'messaging.operation.type': type,
    'messaging.destination.name': callback.subscription.eventTypeName,
    'messaging.message.id': callback.idempotencyKey,
    'messaging.message.body.size': callback.rawBody.length,
  }
  const id = ownSubscriptionId(callback.subscription)
  if (id !== undefined) attributes['messaging.destination.subscription.name'] = id
  return attributes
}
