import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { createWorker, DoNotRetryError } from '../../../src/index.js'
import { MemoryInbox } from '../../support/whole-inbox.js'
import { SqliteInbox } from '../../support/whole-inbox.js'
import { arrival } from '../../support/arrivals.js'
import { runInboxReceiver } from '../../support/running-inbox-receiver.js'
import { genuine } from '../../support/running-receiver.js'
import { inboxFile } from '../../support/sqlite-file.js'
import { message, observedInboxReceiver, observeWith, silent, TYPE } from './observed-receivers.js'
import { described, idOfSpan, recordSpans, useContextManager } from './recorded-spans.js'

useContextManager()

describe('with an inbox', () => {
  it.each([
    ['in memory', () => new MemoryInbox()],
    ['in a file', () => new SqliteInbox({ file: inboxFile() })],
  ])('%s has a trace for each attempt, which is linked to the receive span', async (_where, createInbox) => {
    const { send, spans, becomes } = await observedInboxReceiver({
      inbox: createInbox(),
      handler: async (_event, { attempt }) => {
        spans.tracerProvider.getTracer('app').startSpan(`attempt ${attempt}`).end()
        if (attempt === 1) throw new Error('once')
        throw new DoNotRetryError('never')
      },
    })
    const callback = genuine()
    await send(callback)
    await becomes('1', 'dead')
    const receive = await spans.named(`receive ${TYPE}`)
    expect(described(receive)).toMatchObject({
      attributes: { 'countersign.outcome': 'stored', 'countersign.code': 'STORED' },
      status: 'UNSET',
    })
    for (const [attempt, move] of [
      [1, 'reschedule'],
      [2, 'deadLetter'],
    ] as const) {
      const process = await spans.named(`process ${TYPE}`, attempt)
      expect(described(process)).toEqual({
        name: `process ${TYPE}`,
        kind: 'CONSUMER',
        attributes: {
          ...message(callback, 'process'),
          'countersign.attempt': attempt,
          'countersign.entry.id': '1',
          'error.type': 'ERR_HANDLER_FAILED',
        },
        status: 'ERROR',
        links: [idOfSpan(receive)],
        parent: undefined,
      })
      expect(process.spanContext().traceId).not.toBe(receive.spanContext().traceId)
      const settle = await spans.named(`${move} ${TYPE}`)
      expect(described(settle)).toMatchObject({ kind: 'CLIENT', parent: idOfSpan(process), status: 'UNSET' })
      const ofHandler = await spans.named(`attempt ${attempt}`)
      expect(described(ofHandler).parent).toBe(idOfSpan(process))
    }
  })

  it('starts a trace of its own for an attempt, whatever is active where the receiver starts', async () => {
    const spans = recordSpans()
    const starting = spans.tracerProvider.getTracer('app').startSpan('start')
    const { send, becomes, receiver } = await context.with(trace.setSpan(ROOT_CONTEXT, starting), () =>
      runInboxReceiver(),
    )
    observeWith(spans).observe(receiver)
    await send(genuine())
    await becomes('1', 'handled')
    expect(described(await spans.named(`process ${TYPE}`)).parent).toBeUndefined()
  })

  it('has what is in quarantine, which is no error', async () => {
    const { send, spans } = await observedInboxReceiver()
    await send(genuine({ headers: { 'X-Event-Type': 'rewritten.type' } }))
    const receive = await spans.named(`receive ${TYPE}`)
    expect(described(receive)).toMatchObject({
      attributes: { 'countersign.outcome': 'quarantined', 'countersign.code': 'ERR_EVENT_TYPE_MISMATCH' },
      status: 'UNSET',
    })
    expect(JSON.stringify(receive.attributes)).not.toContain('rewritten')
  })

  it('has the error of an inbox that cannot be written', async () => {
    const inbox = new MemoryInbox()
    const { send, spans } = await observedInboxReceiver({ inbox })
    inbox.add = () => Promise.reject(new Error('disk full'))
    expect((await send(genuine())).status).toBe(503)
    expect(described(await spans.named(`receive ${TYPE}`))).toMatchObject({
      attributes: { 'error.type': 'ERR_INBOX_UNAVAILABLE' },
      status: 'ERROR',
    })
  })

  it('links the attempt of a worker that has its own connection to the inbox', async () => {
    const file = inboxFile()
    const ofReceiver = recordSpans()
    const { receiver, send } = await runInboxReceiver({ inbox: new SqliteInbox({ file }), handler: null })
    observeWith(ofReceiver).observe(receiver)
    const ofWorker = recordSpans()
    const worker = createWorker({ inbox: new SqliteInbox({ file }), pollMs: 5, logger: silent })
    worker.on(TYPE, () => {})
    observeWith(ofWorker).observe(worker)
    await send(genuine())
    const receive = await ofReceiver.named(`receive ${TYPE}`)
    await worker.start()
    const process = await ofWorker.named(`process ${TYPE}`)
    expect(described(process)).toMatchObject({ parent: undefined, links: [idOfSpan(receive)] })
    expect(described(await ofWorker.named(`complete ${TYPE}`)).parent).toBe(idOfSpan(process))
    await worker.stop()
    expect(ofReceiver.all()).toHaveLength(1)
  })

  it('observes a worker', async () => {
    const spans = recordSpans()
    const inbox = new MemoryInbox()
    const worker = createWorker({ inbox, pollMs: 5, logger: silent })
    worker.on(TYPE, () => {})
    observeWith(spans).observe(worker)
    await worker.start()
    const { callback, key, bodyHash, signature } = arrival()
    const traceContext = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01\nvendor=1`
    await inbox.add({ callback, key, bodyHash, signature, traceContext })
    const process = await spans.named(`process ${TYPE}`)
    expect(described(process).links).toEqual([`${'a'.repeat(32)}-${'b'.repeat(16)}`])
    expect(process.links[0]!.context.traceState?.serialize()).toBe('vendor=1')
    await spans.named(`complete ${TYPE}`)
    await worker.stop()
  })
})
