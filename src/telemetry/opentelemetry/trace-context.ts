import { createTraceState, isSpanContextValid, TraceFlags, type SpanContext } from '@opentelemetry/api'

/** https://www.w3.org/TR/trace-context/#traceparent-header-field-values, for version 00 and later ones. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/
const LENGTH = 55
/** A later version may be longer. */
const MAX_LENGTH = 200
/** How many bytes an inbox stores at most. */
const MAX_STORED_BYTES = 600
/** Every implementation must accept a tracestate of this length, in characters (https://www.w3.org/TR/trace-context/#tracestate-limits). */
const MAX_TRACESTATE_LENGTH = 512
const TRACESTATE = /^[\x20-\x7e\t]*$/

/** The span that a traceparent names, and its tracestate; undefined if the traceparent is malformed. Never throws. */
export function parseTraceContext(traceparent: string, tracestate = ''): SpanContext | undefined {
  if (traceparent.length < LENGTH || traceparent.length > MAX_LENGTH) return undefined
  const match = TRACEPARENT.exec(traceparent)
  const [, version, traceId, spanId, flags] = match ?? []
  if (!traceId || !spanId || version === 'ff') return undefined
  if (version === '00' && traceparent.length !== LENGTH) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & TraceFlags.SAMPLED }
  if (!isSpanContextValid(context)) return undefined
  const isUsable =
    tracestate !== '' && tracestate.length <= MAX_TRACESTATE_LENGTH && TRACESTATE.test(tracestate)
  const traceState = isUsable ? createTraceState(tracestate) : undefined
  return { ...context, isRemote: true, ...(traceState && { traceState }) }
}

/** The text that is stored with an entry for a span. Undefined if the span is not sampled: a link to it would lead nowhere. */
export function storedTraceContext({
  traceId,
  spanId,
  traceFlags,
  traceState,
}: SpanContext): string | undefined {
  if ((traceFlags & TraceFlags.SAMPLED) === 0) return undefined
  const traceparent = `00-${traceId}-${spanId}-01`
  const tracestate = traceState?.serialize() ?? ''
  if (tracestate === '' || !TRACESTATE.test(tracestate)) return traceparent
  const both = `${traceparent}\n${tracestate}`
  return Buffer.byteLength(both) <= MAX_STORED_BYTES ? both : traceparent
}

/** The span that was stored with an entry. Another version or another program may have written the text, so it is checked. */
export function parseStoredTraceContext(stored: string): SpanContext | undefined {
  const [traceparent = '', tracestate] = stored.split('\n', 2)
  return parseTraceContext(traceparent, tracestate)
}
