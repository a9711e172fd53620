import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base'
import { createReceiver } from '../../../src/index.js'
import { MemoryInbox } from '../../support/whole-inbox.js'
import { openTelemetry } from '../../../src/opentelemetry.js'
import { signedCallback } from '../../../src/testing/signed-callback.js'
import { runInboxReceiver } from '../../support/running-inbox-receiver.js'
import { genuine, subscription } from '../../support/running-receiver.js'
import { observedReceiver, observeWith, silent, TYPE } from './observed-receivers.js'
import { described, idOfSpan, recordSpans } from './recorded-spans.js'

// No context manager is registered here.

describe('openTelemetry', () => {
  it('relates the spans also where no context manager is registered', async () => {
    const claim = { attempt: 1, complete: async () => true, release: async () => {} }
    const store = { retentionMs: 1e9, claim: async () => ({ state: 'claimed' as const, claim }) }
    const { send, spans } = await observedReceiver({ store })
    await send(genuine())
    const receive = await spans.named(`receive ${TYPE}`)
    const process = await spans.named(`process ${TYPE}`)
    expect(described(process).parent).toBe(idOfSpan(receive))
    expect(described(await spans.named(`complete ${TYPE}`)).parent).toBe(idOfSpan(process))
  })

  it('stores no trace context of a span that is not sampled', async () => {
    const inbox = new MemoryInbox()
    const spans = recordSpans(new AlwaysOffSampler())
    const { receiver, send, becomes } = await runInboxReceiver({ inbox })
    observeWith(spans).observe(receiver)
    await send(genuine())
    await becomes('1', 'handled')
    expect((await inbox.show('1'))!.traceContext).toBeUndefined()
    expect(spans.all()).toEqual([])
  })

  it('handles callbacks where no SDK is registered', async () => {
    const inbox = new MemoryInbox()
    const { receiver, send, becomes } = await runInboxReceiver({ inbox })
    openTelemetry().observe(receiver)
    expect((await send(genuine())).status).toBe(200)
    await becomes('1', 'handled')
    expect((await inbox.show('1'))!.traceContext).toBeUndefined()
  })

  it('observes two receivers of a process', async () => {
    const spans = recordSpans()
    const telemetry = observeWith(spans)
    const other = {
      ...subscription,
      eventTypeName: 'accounts.updated',
      callbackUrl: 'https://other.example.com/',
    }
    for (const each of [subscription, other]) {
      const receiver = createReceiver({ subscriptions: [each], logger: silent })
      receiver.on(each.eventTypeName, () => {})
      telemetry.observe(receiver)
      const { method, path, headers, body } = signedCallback({ subscription: each })
      expect((await receiver.receive({ method, path, headers, body })).status).toBe(200)
      await receiver.stop()
    }
    expect(spans.all().map(({ name }) => name)).toEqual([
      `process ${TYPE}`,
      `receive ${TYPE}`,
      'process accounts.updated',
      'receive accounts.updated',
    ])
  })

  it('has two spans where two observe the same receiver', async () => {
    const { receiver, send, spans } = await observedReceiver()
    const others = recordSpans()
    observeWith(others).observe(receiver)
    await send(genuine())
    expect(spans.all()).toHaveLength(2)
    expect(others.all()).toHaveLength(2)
  })

  it('ends, costs nothing from then on, and ends the spans that have begun', async () => {
    let resume!: () => void
    const { receiver, send, spans, end, handled } = await observedReceiver({
      handler: () => new Promise<void>((resolve) => (resume = resolve)),
    })
    const sent = send(genuine())
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve))
    end()
    end()
    const channel = receiver.events as unknown as {
      has(name: string): boolean
      isSurrounded(name: string): boolean
    }
    expect(['accept', 'attempt', 'settle'].map((step) => channel.isSurrounded(step))).toEqual([
      false,
      false,
      false,
    ])
    resume()
    expect((await sent).status).toBe(200)
    expect(spans.all().map(({ name }) => name)).toEqual([`process ${TYPE}`, `receive ${TYPE}`])
    const again = send(genuine())
    while (handled.length === 1) await new Promise((resolve) => setImmediate(resolve))
    resume()
    await again
    expect(spans.all()).toHaveLength(2)
  })

  it('has event types above maxEventTypes as other in names of spans', async () => {
    const spans = recordSpans()
    const receiver = createReceiver({
      subscriptions: ({ eventType }) => [{ ...subscription, eventTypeName: eventType! }],
      logger: silent,
    })
    receiver.onAny(() => {})
    observeWith(spans, { maxEventTypes: 1 }).observe(receiver)
    for (const eventTypeName of ['a', 'b']) {
      const { method, path, headers, body } = signedCallback({
        subscription: { ...subscription, eventTypeName },
      })
      await receiver.receive({ method, path, headers, body })
    }
    const receives = spans.all().filter(({ name }) => name.startsWith('receive'))
    expect(receives.map(({ name }) => name)).toEqual(['receive a', 'receive other'])
    await receiver.stop()
  })

  it('refuses wrong options, with what to pass', () => {
    expect(() => openTelemetry({ tracerProvider: {} as never })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION_INVALID', option: 'tracerProvider' }),
    )
    expect(() => openTelemetry({ trustTraceparent: 'yes' as never })).toThrow(
      /trustTraceparent is "yes": use true or/,
    )
    expect(() => openTelemetry({ refusedSpansPerSecond: -1 })).toThrow(/refusedSpansPerSecond is -1/)
    expect(() => openTelemetry({ maxEventTypes: 1_001 })).toThrow(/from 1 to 1000/)
    expect(() => openTelemetry({ tracer: 1 } as never)).toThrow(/has no option "tracer"/)
    expect(() => openTelemetry().observe({} as never)).toThrow(
      /openTelemetry.observe: observed .* pass a receiver or/,
    )
  })

  // What is not loaded costs nothing.
  it('is loaded by no other entry point', () => {
    const program = `
      for (const name of ['', '/prometheus', '/sqlite', '/postgres', '/bullmq', '/redis', '/testing'])
        require('countersign' + name)
      console.log(JSON.stringify(Object.keys(require.cache).filter((file) => file.includes('opentelemetry')).length))`
    const cwd = join(__dirname, '../../..')
    expect(
      execFileSync(process.execPath, ['--input-type=commonjs', '--eval', program], { cwd, encoding: 'utf8' }),
    ).toBe('0\n')
  })
})
