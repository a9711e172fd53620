import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { createReceiver } from '../../../src/index.js'
import { openTelemetry } from '../../../src/opentelemetry.js'
import { signedCallback } from '../../../src/testing/signed-callback.js'
import { collectedLog } from '../../support/collected-log.js'
import { FORGED, genuine, runReceiver, SECRET, subscription } from '../../support/running-receiver.js'
import { until } from '../../support/until.js'
import { message, observedReceiver, observeWith, silent, TYPE } from './observed-receivers.js'
import { described, idOfSpan, recordSpans, useContextManager } from './recorded-spans.js'

useContextManager()

describe('without an inbox', () => {
  it('has a receive span, and in it the process span, and in it what the handler does', async () => {
    const { send, spans } = await observedReceiver({
      handler: () => {
        spans.tracerProvider.getTracer('app').startSpan('of the handler').end()
      },
    })
    const callback = genuine()
    expect((await send(callback)).status).toBe(200)
    const receive = await spans.named(`receive ${TYPE}`)
    const [ofHandler, process, last] = spans.all()
    expect(last).toBe(receive)
    expect(described(receive)).toEqual({
      name: `receive ${TYPE}`,
      kind: 'CONSUMER',
      attributes: {
        ...message(callback, 'receive'),
        'countersign.outcome': 'handled',
        'countersign.code': 'HANDLED',
      },
      status: 'UNSET',
      links: [],
      parent: undefined,
    })
    expect(described(process!)).toEqual({
      name: `process ${TYPE}`,
      kind: 'CONSUMER',
      attributes: { ...message(callback, 'process'), 'countersign.attempt': 1 },
      status: 'UNSET',
      links: [],
      parent: idOfSpan(receive),
    })
    expect(described(ofHandler!)).toMatchObject({ name: 'of the handler', parent: idOfSpan(process!) })
    expect(spans.all()).toHaveLength(3)
  })

  it('keeps the context of a handler that waits, while others run', async () => {
    // Latest first.
    const waiting: (() => void)[] = []
    const { send, spans, handled } = await observedReceiver({
      in: 'the standalone server',
      handler: async ({ payload }) => {
        await new Promise<void>((resolve) => waiting.unshift(resolve))
        spans.tracerProvider.getTracer('app').startSpan(payload.Id).end()
      },
    })
    const sent = Promise.all(['a', 'b', 'c'].map((Id) => send(genuine({ payload: { Id } }))))
    await until(() => handled.length === 3)
    for (const resume of waiting) resume()
    await sent
    const keyOf = new Map(handled.map(({ payload, idempotencyKey }) => [payload.Id, idempotencyKey]))
    for (const Id of ['a', 'b', 'c']) {
      const ofHandler = await spans.named(Id)
      const parent = spans.all().find((span) => idOfSpan(span) === described(ofHandler).parent)!
      expect(parent.attributes['messaging.message.id']).toBe(keyOf.get(Id))
    }
  })

  it('begins the receive span when the headers have arrived, and ends it after the process span', async () => {
    const { send, spans } = await observedReceiver({ in: 'the standalone server' })
    const before = Date.now()
    await send(genuine())
    const { startTime, endTime, duration } = await spans.named(`receive ${TYPE}`)
    const ms = (time: [number, number]) => time[0] * 1_000 + time[1] / 1e6
    expect(ms(startTime)).toBeGreaterThan(before - 50)
    expect(ms(endTime)).toBeLessThan(Date.now() + 50)
    const process = await spans.named(`process ${TYPE}`)
    expect(ms(duration)).toBeGreaterThan(ms(process.duration))
  })

  it('has a settle span where a store has to be waited for', async () => {
    let completed = true
    const claim = { attempt: 1, complete: async () => completed, release: async () => {} }
    const store = { retentionMs: 1e9, claim: async () => ({ state: 'claimed' as const, claim }) }
    let fails = false
    const { send, spans } = await observedReceiver({
      store,
      handler: () => {
        if (fails) throw new Error('no')
      },
    })
    const callback = genuine()
    await send(callback)
    const settle = await spans.named(`complete ${TYPE}`)
    expect(described(settle)).toEqual({
      name: `complete ${TYPE}`,
      kind: 'CLIENT',
      attributes: message(callback, 'complete', 'settle'),
      status: 'UNSET',
      links: [],
      parent: idOfSpan(await spans.named(`process ${TYPE}`)),
    })
    completed = false
    await send(genuine())
    expect(described(await spans.named(`complete ${TYPE}`, 2))).toMatchObject({
      status: 'ERROR',
      attributes: { 'error.type': 'ERR_CLAIM_LOST' },
    })
    expect(described(await spans.named(`process ${TYPE}`, 2)).attributes['error.type']).toBe('ERR_CLAIM_LOST')
    claim.complete = async () => Promise.reject(new Error('out of reach'))
    await send(genuine())
    expect(described(await spans.named(`complete ${TYPE}`, 3)).attributes['error.type']).toBe('_OTHER')
    expect(described(await spans.named(`process ${TYPE}`, 3)).attributes['error.type']).toBe(
      'ERR_STORE_UNAVAILABLE',
    )
    fails = true
    await send(genuine())
    await spans.named(`release ${TYPE}`)
  })

  it('has the failure of a handler, with its class and without its message', async () => {
    const { send, spans } = await observedReceiver({
      handler: () => {
        throw new TypeError(`wrong: ${SECRET}`)
      },
    })
    await send(genuine())
    const receive = await spans.named(`receive ${TYPE}`)
    const process = await spans.named(`process ${TYPE}`)
    for (const span of [receive, process])
      expect(described(span)).toMatchObject({
        status: 'ERROR',
        attributes: { 'error.type': 'ERR_HANDLER_FAILED' },
      })
    expect(process.events).toMatchObject([
      { name: 'exception', attributes: { 'exception.type': 'TypeError' } },
    ])
    expect(
      JSON.stringify(spans.all().map(({ attributes, events, status }) => [attributes, events, status])),
    ).not.toContain(SECRET)
  })

  it('has what is verified of a refused callback, and no process span', async () => {
    const { send, spans } = await observedReceiver()
    const callback = genuine({ timestamp: new Date(Date.now() - 7 * 86_400_000) })
    expect((await send(callback)).status).toBe(401)
    const receive = await spans.named(`receive ${TYPE}`)
    expect(described(receive)).toMatchObject({
      status: 'ERROR',
      attributes: {
        ...message(callback, 'receive'),
        'countersign.outcome': 'refused',
        'error.type': 'ERR_TIMESTAMP_OUT_OF_TOLERANCE',
      },
    })
    expect(spans.all()).toHaveLength(1)
  })

  it('has a span for a duplicate, which is no error', async () => {
    const { send, spans } = await observedReceiver()
    const callback = genuine()
    await send(callback)
    await send(callback)
    expect(described(await spans.named(`receive ${TYPE}`, 2))).toMatchObject({
      status: 'UNSET',
      attributes: { 'countersign.outcome': 'duplicate', 'countersign.code': 'DUPLICATE' },
    })
    expect(spans.all().map(({ name }) => name)).toEqual([
      `process ${TYPE}`,
      `receive ${TYPE}`,
      `receive ${TYPE}`,
    ])
  })

  it.each(['throws', 'waits'])(
    'is logged if a span processor throws, and not thrown, when a handler %s',
    async (handlerThat) => {
      const log = collectedLog()
      const onEnd = () => {
        throw new Error('the processor is wrong')
      }
      const processor = { onStart() {}, onEnd, forceFlush: async () => {}, shutdown: async () => {} }
      const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] })
      const { receiver, send } = await runReceiver({
        logger: log,
        handler: () => {
          if (handlerThat === 'throws') throw new Error('no')
          return Promise.resolve()
        },
      })
      openTelemetry({ tracerProvider, meterProvider: false }).observe(receiver)
      expect((await send(genuine())).status).toBe(handlerThat === 'throws' ? 500 : 200)
      // The spans `process` and `receive`.
      await until(() => log.withCode('ERR_LISTENER_FAILED').length === 2)
    },
  )

  it('has a span for a verified callback that arrives while the receiver stops', async () => {
    const spans = recordSpans()
    let found!: () => void
    const looking = new Promise<void>((resolve) => (found = resolve))
    const receiver = createReceiver({
      subscriptions: async () => {
        await looking
        return [subscription]
      },
      logger: silent,
    })
    observeWith(spans).observe(receiver)
    const { method, path, headers, body } = signedCallback({ subscription })
    const received = receiver.receive({ method, path, headers, body })
    const stopped = receiver.stop()
    found()
    expect((await received).status).toBe(503)
    await stopped
    expect(described(await spans.named(`receive ${TYPE}`)).attributes).toMatchObject({
      'error.type': 'ERR_SHUTTING_DOWN',
      'messaging.message.id': headers['X-Idempotency-Key'],
    })
  })
})

// Without explanations of the refusals, as these would go on after the last test.
describe('requests that are not verified', () => {
  it('have a span without anything that the sender chose', async () => {
    const { send, spans } = await observedReceiver({ diagnosis: false })
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    await send(genuine({ headers: { Authorization: FORGED, 'X-Event-Type': 'forged.type', traceparent } }))
    expect(described(await spans.named('receive'))).toEqual({
      name: 'receive',
      kind: 'CONSUMER',
      attributes: {
        'messaging.system': 'countersign',
        'messaging.operation.name': 'receive',
        'messaging.operation.type': 'receive',
        'countersign.outcome': 'refused',
        'countersign.code': 'ERR_SIGNATURE_MISMATCH',
        'error.type': 'ERR_SIGNATURE_MISMATCH',
      },
      status: 'ERROR',
      links: [],
      parent: undefined,
    })
  })

  it('have no more than refusedSpansPerSecond spans', async () => {
    const spans = recordSpans()
    const receiver = createReceiver({ subscriptions: [subscription], logger: silent, diagnosis: false })
    observeWith(spans, { refusedSpansPerSecond: 3 }).observe(receiver)
    const { method, path, headers, body } = signedCallback({ subscription })
    const forged = { method, path, headers: { ...headers, Authorization: FORGED }, body }
    const startedAt = performance.now()
    for (let sent = 0; sent < 200; sent++) await receiver.receive(forged)
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000)
    expect(spans.all().length).toBeGreaterThanOrEqual(3)
    expect(spans.all().length).toBeLessThanOrEqual(3 * seconds + 3)
    await receiver.stop()
  })
})
