import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { createReceiver } from '../../../src/index.js'
import { signedCallback } from '../../../src/testing/signed-callback.js'
import {
  parseStoredTraceContext,
  parseTraceContext,
  storedTraceContext,
} from '../../../src/telemetry/opentelemetry/trace-context.js'
import { genuine, subscription } from '../../support/running-receiver.js'
import { observedReceiver, observeWith, silent, TYPE } from './observed-receivers.js'
import { described, idOfSpan, recordSpans, useContextManager } from './recorded-spans.js'

useContextManager()

const TRACE = 'a'.repeat(32)
const SPAN = 'b'.repeat(16)
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`
const SENDER = `${TRACE}-${SPAN}`

describe('the traceparent of a verified callback', () => {
  it('is a link, and no parent', async () => {
    const { send, spans } = await observedReceiver()
    await send(genuine({ headers: { traceparent: TRACEPARENT, tracestate: 'vendor=1' } }))
    const receive = await spans.named(`receive ${TYPE}`)
    expect(described(receive)).toMatchObject({ parent: undefined, links: [SENDER] })
    expect(receive.spanContext().traceId).not.toBe(TRACE)
    expect(receive.links[0]!.context.traceState).toBeUndefined()
  })

  it('is the parent with trustTraceparent', async () => {
    const { send, spans } = await observedReceiver({}, { trustTraceparent: true })
    await send(genuine({ headers: { traceparent: TRACEPARENT, tracestate: 'vendor=1' } }))
    const receive = await spans.named(`receive ${TYPE}`)
    expect(described(receive)).toMatchObject({ parent: SENDER, links: [SENDER] })
    expect(receive.spanContext().traceId).toBe(TRACE)
    expect(receive.spanContext().traceState?.serialize()).toBe('vendor=1')
  })

  it.each([
    ['the span of the HTTP server is the parent', false],
    ['with trustTraceparent, the span of the HTTP server is a link', true],
  ])('%s', async (_what, trustTraceparent) => {
    const spans = recordSpans()
    const receiver = createReceiver({ subscriptions: [subscription], logger: silent })
    receiver.on(TYPE, () => {})
    observeWith(spans, { trustTraceparent }).observe(receiver)
    const server = spans.tracerProvider.getTracer('http').startSpan('POST /hooks/transfers')
    const { method, path, headers, body } = signedCallback({ subscription })
    await context.with(trace.setSpan(ROOT_CONTEXT, server), () =>
      receiver.receive({ method, path, headers: { ...headers, traceparent: TRACEPARENT }, body }),
    )
    expect(described(await spans.named(`receive ${TYPE}`))).toMatchObject(
      trustTraceparent
        ? { parent: SENDER, links: [SENDER, idOfSpan(server)] }
        : { parent: idOfSpan(server), links: [SENDER] },
    )
    await receiver.stop()
  })

  it.each([
    ['empty', ''],
    ['no traceparent', 'hello'],
    ['in capitals', TRACEPARENT.toUpperCase()],
    ['without a trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['without a span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['of the forbidden version', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 and too long', `${TRACEPARENT}-more`],
    ['followed by a space and more', `${TRACEPARENT} x`],
    ['short', TRACEPARENT.slice(0, -1)],
    ['huge', `01-${TRACE}-${SPAN}-01-${'a'.repeat(7_000)}`],
    ['two in one line', `${TRACEPARENT},${TRACEPARENT}`],
  ])('is ignored where it is %s', async (_what, traceparent) => {
    const { send, spans } = await observedReceiver({}, { trustTraceparent: true })
    expect((await send(genuine({ headers: { traceparent } }))).status).toBe(200)
    expect(described(await spans.named(`receive ${TYPE}`))).toMatchObject({ parent: undefined, links: [] })
  })

  it('is ignored where there are several', async () => {
    const spans = recordSpans()
    const receiver = createReceiver({ subscriptions: [subscription], logger: silent })
    receiver.on(TYPE, () => {})
    observeWith(spans).observe(receiver)
    const { method, path, headers, body } = signedCallback({ subscription })
    const rawHeaders = [
      ...Object.entries(headers).flat(),
      'TraceParent',
      TRACEPARENT,
      'traceparent',
      TRACEPARENT,
    ]
    expect((await receiver.receive({ method, path, rawHeaders, body })).status).toBe(200)
    expect(described(await spans.named(`receive ${TYPE}`)).links).toEqual([])
    await receiver.stop()
  })
})

describe('a stored trace context', () => {
  const context = { traceId: TRACE, spanId: SPAN, traceFlags: 1 }
  const stateOf = (text: string) => parseTraceContext(TRACEPARENT, text)!.traceState!

  it('is the traceparent, and the tracestate in a second line', () => {
    expect(storedTraceContext(context)).toBe(TRACEPARENT)
    const stored = storedTraceContext({ ...context, traceState: stateOf('vendor=1,other=2') })
    expect(stored).toBe(`${TRACEPARENT}\nvendor=1,other=2`)
    const parsed = parseStoredTraceContext(stored!)!
    expect(parsed).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1 })
    expect(parsed.traceState!.serialize()).toBe('vendor=1,other=2')
  })

  it('has no tracestate that would make it longer than 600 bytes', () => {
    const long = (length: number) => ({ serialize: () => `v=${'x'.repeat(length - 2)}` }) as never
    expect(storedTraceContext({ ...context, traceState: long(544) })).toHaveLength(600)
    expect(storedTraceContext({ ...context, traceState: long(545) })).toBe(TRACEPARENT)
  })

  it('is not made of a span that is not sampled', () => {
    expect(storedTraceContext({ ...context, traceFlags: 0 })).toBeUndefined()
  })

  it.each(['', '\n', 'x'.repeat(600), `${TRACEPARENT.slice(1)}\nvendor=1`])(
    'is ignored if it is %j',
    (stored) => {
      expect(parseStoredTraceContext(stored)).toBeUndefined()
    },
  )
})
