import {
  type Histogram,
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { DoNotRetryError } from '../../../src/index.js'
import { MemoryInbox } from '../../support/whole-inbox.js'
import { openTelemetry } from '../../../src/opentelemetry.js'
import { runInboxReceiver } from '../../support/running-inbox-receiver.js'
import { FORGED, genuine, runReceiver, SECRET } from '../../support/running-receiver.js'
import { TYPE } from './observed-receivers.js'

const providers: MeterProvider[] = []
afterEach(() => Promise.all(providers.splice(0).map((provider) => provider.shutdown())))

/** The real SDK, read when the test asks. */
function measure() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  // An hour: nothing is exported but what `read` asks for.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  providers.push(meterProvider)
  const read = async () => {
    const { resourceMetrics, errors } = await reader.collect()
    expect(errors).toEqual([])
    const found = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
    return new Map(
      found.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        {
          ...descriptor,
          points: dataPoints.map(({ attributes, value }) => ({ attributes, value: value as Histogram })),
        },
      ]),
    )
  }
  return { telemetry: openTelemetry({ meterProvider, tracerProvider: false }), meterProvider, read }
}

function operation(name: string, type = name) {
  return {
    'messaging.system': 'countersign',
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    'messaging.destination.name': TYPE,
  }
}

describe('metrics', () => {
  it('count attempts and their durations by the messaging conventions', async () => {
    const { telemetry, read } = measure()
    const { receiver, send, becomes } = await runInboxReceiver({
      handler: ({ payload }) => {
        if (payload.Id === 'dead') throw new DoNotRetryError('no such account')
      },
    })
    telemetry.observe(receiver)
    await send(genuine())
    await becomes('1', 'handled')
    await send(genuine({ payload: { Id: 'dead' } }))
    await becomes('2', 'dead')
    await receiver.idle()
    const found = await read()
    const failed = { ...operation('process'), 'error.type': 'ERR_HANDLER_FAILED' }
    expect(found.get('messaging.client.consumed.messages')).toMatchObject({
      unit: '{message}',
      points: [
        { attributes: operation('process'), value: 1 },
        { attributes: failed, value: 1 },
      ],
    })
    const attempts = found.get('messaging.process.duration')!
    expect(attempts.unit).toBe('s')
    expect(attempts.points.map(({ attributes, value }) => [attributes, value.count])).toEqual([
      [operation('process'), 1],
      [failed, 1],
    ])
    expect(attempts.points[0]!.value.buckets.boundaries.slice(0, 3)).toEqual([0.005, 0.01, 0.025])
    const operations = found.get('messaging.client.operation.duration')!
    expect(operations.points.map(({ attributes, value }) => [attributes, value.count])).toEqual(
      expect.arrayContaining([
        [operation('receive'), 2],
        [operation('complete', 'settle'), 1],
        [operation('deadLetter', 'settle'), 1],
      ]),
    )
    expect(operations.points).toHaveLength(3)
    expect(found.get('countersign.signed_to_handled.duration')!.points[0]!.value.count).toBe(1)
  })

  it('count a callback that was signed by a clock that is ahead', async () => {
    const { telemetry, read } = measure()
    const { receiver, send } = await runReceiver()
    telemetry.observe(receiver)
    await send(genuine({ timestamp: new Date(Date.now() + 120_000) }))
    const [point] = (await read()).get('countersign.signed_to_handled.duration')!.points
    expect(point!.value).toMatchObject({ count: 1, sum: 0 })
  })

  it('add up what receivers do that are observed by an object each', async () => {
    const { telemetry, meterProvider, read } = measure()
    for (const each of [telemetry, openTelemetry({ meterProvider, tracerProvider: false })]) {
      const { receiver, send } = await runReceiver()
      each.observe(receiver)
      await send(genuine())
    }
    for (let exports = 0; exports < 2; exports++) {
      const found = await read()
      const counted = ['callbacks', 'attempts'].map((name) => found.get(`countersign.${name}`)!.points)
      expect(counted).toMatchObject([[{ value: 2 }], [{ value: 2 }]])
    }
  })

  it('have what the inbox holds, read when they are exported', async () => {
    const { telemetry, read } = measure()
    const inbox = new MemoryInbox()
    const stats = jest.spyOn(inbox, 'stats')
    const { receiver } = await runInboxReceiver({ inbox })
    telemetry.observe(receiver, { inbox: 'payments' })
    expect(stats).not.toHaveBeenCalled()
    const found = await read()
    expect(stats).toHaveBeenCalledTimes(1)
    expect(found.get('countersign.inbox.entries')!.points).toContainEqual({
      attributes: { 'countersign.inbox': 'payments', 'countersign.state': 'stored' },
      value: 0,
    })
    for (const name of ['readable', 'oldest_unfinished.age', 'oldest_dead_letter.age'])
      expect(found.get(`countersign.inbox.${name}`)!.points).toHaveLength(1)
  })

  it('have nothing of what an unauthenticated request claims', async () => {
    const { telemetry, read } = measure()
    const { receiver, send } = await runReceiver()
    telemetry.observe(receiver)
    await send(genuine({ headers: { Authorization: FORGED, 'X-Event-Type': 'forged.type' } }))
    await send(genuine({ headers: { 'X-Event-Type': 'rewritten.type' } }))
    const found = await read()
    expect(found.get('countersign.callbacks')!.points).toEqual([
      {
        attributes: { 'countersign.outcome': 'refused', 'countersign.code': 'ERR_SIGNATURE_MISMATCH' },
        value: 1,
      },
      {
        attributes: {
          'countersign.outcome': 'refused',
          'countersign.code': 'ERR_EVENT_TYPE_MISMATCH',
          'messaging.destination.name': TYPE,
        },
        value: 1,
      },
    ])
    const all = JSON.stringify([...found])
    expect(all).not.toMatch(/forged|rewritten/)
    expect(all).not.toContain(SECRET)
  })

  it('end, and cost nothing from then on', async () => {
    const { telemetry, read } = measure()
    const { receiver, send } = await runReceiver()
    const end = telemetry.observe(receiver)
    await send(genuine())
    end()
    end()
    await send(genuine())
    const channel = receiver.events as unknown as {
      has(name: string): boolean
      isSurrounded(name: string): boolean
    }
    expect([channel.has('handled'), channel.isSurrounded('settle'), channel.isSurrounded('attempt')]).toEqual(
      [false, false, false],
    )
    const found = await read()
    expect(found.get('messaging.client.consumed.messages')!.points[0]!.value).toBe(1)
  })

  it('refuse wrong options', () => {
    expect(() => openTelemetry({ meterProvider: {} as never })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION_INVALID', option: 'meterProvider' }),
    )
    const { telemetry } = measure()
    expect(() => telemetry.observe({ events: { around() {} } } as never, { inbox: '' })).toThrow(
      /inbox is "": use a name/,
    )
  })
})
