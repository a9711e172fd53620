import { randomUUID } from 'node:crypto'
import { subscription } from '../support/subscription.js'
import { work } from '../support/running-worker.js'
import { until } from '../support/until.js'

const LEASE_MS = 60_000

describe('a worker', () => {
  it('handles what is stored, once', async () => {
    const { store, becomes, runs } = work()
    const body = '{"Id": "64b87e81-f9c7-4125-8565-b199c6e65b4f"}'
    const idempotencyKey = randomUUID()
    const id = await store({ body, idempotencyKey })

    expect(await becomes(id, 'handled')).toMatchObject({ attempts: 1, reason: undefined })
    expect(runs).toMatchObject([
      {
        event: {
          type: subscription.eventTypeName,
          idempotencyKey,
          payload: JSON.parse(body),
          rawBody: Buffer.from(body),
          byOperator: false,
        },
        context: { attempt: 1, entryId: id },
      },
    ])
  })

  it('handles a thousand entries once each', async () => {
    const { store, runs, inbox } = work({ concurrency: 7 })
    const keys = Array.from({ length: 1_000 }, () => randomUUID())
    await Promise.all(keys.map((idempotencyKey) => store({ idempotencyKey })))
    await until(() => runs.length === 1_000)
    expect(new Set(runs.map(({ event }) => event.idempotencyKey))).toEqual(new Set(keys))
    await until(() => runs.every(({ isOver }) => isOver))
    expect((await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: LEASE_MS })).entries).toEqual([])
  })

  it('handles as many at a time as it may, and never more', async () => {
    const { store, runs, underWay, called } = work({ concurrency: 3, handler: 'manual' })
    for (let count = 0; count < 10; count++) await store()
    for (let count = 0; count < 10; count++) {
      await until(() => underWay() === Math.min(3, 10 - count))
      expect(runs).toHaveLength(Math.min(10, count + 3))
      const run = await called(count + 1)
      run.succeed()
      await until(() => run.isOver)
    }
  })

  it('is woken by what is stored, without waiting until it looks again', async () => {
    const { worker, store, called, becomes } = work({ pollMs: 2 ** 30 })
    for (let count = 1; count <= 3; count++) {
      const id = await store()
      worker.wake()
      await called(count)
      await becomes(id, 'handled')
    }
  })

  it('finds by itself what another process has stored', async () => {
    const { store, becomes } = work({ pollMs: 1 })
    await becomes(await store(), 'handled')
    await becomes(await store(), 'handled')
  })

  it('handles nothing that is in quarantine until it is released', async () => {
    const { store, becomes, inbox, runs, log } = work({ pollMs: 1 })
    const suspect = await store({ suspicion: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE' })
    await becomes(await store(), 'handled')
    expect(await inbox.show(suspect)).toMatchObject({ state: 'quarantined', attempts: 0 })

    expect(await inbox.act(suspect, 'release', 'test')).toEqual({ done: true })
    await becomes(suspect, 'handled')
    expect(runs.map(({ event }) => event.byOperator)).toEqual([false, true])
    expect(log.lines.filter(({ message }) => message === 'entry handled')).toHaveLength(2)
  })

  it('tells handlers that a person had an event handled again', async () => {
    const { store, becomes, inbox, runs, called } = work({ pollMs: 1 })
    const id = await store()
    await becomes(id, 'handled')
    expect(await inbox.act(id, 'retry', 'test', { again: true })).toEqual({ done: true })
    await called(2)
    expect(runs.map(({ event, context }) => [event.byOperator, context.attempt])).toEqual([
      [false, 1],
      [true, 1],
    ])
  })

  it('gives up a released entry whose body is not JSON, and says why', async () => {
    const { store, becomes, inbox, runs, log } = work({ pollMs: 1 })
    const id = await store({ body: 'Id=1', suspicion: 'ERR_BODY_NOT_JSON' })
    await inbox.act(id, 'release', 'test')
    expect(await becomes(id, 'dead')).toMatchObject({ reason: 'the body is not a JSON object' })
    expect(runs).toEqual([])
    await until(() => log.lines.some(({ level }) => level === 'error'))
    expect(log.lines.at(-1)).toMatchObject({
      level: 'error',
      message: 'entry is a dead letter',
      fields: { entryId: id, error: 'the body is not a JSON object' },
    })
  })

  it('leaves what it has no handler for', async () => {
    const { store, becomes, inbox, runs } = work({ pollMs: 1 })
    const other = await store({ type: 'accounts.closed' })
    await becomes(await store(), 'handled')
    expect(await inbox.show(other)).toMatchObject({ state: 'unhandled', attempts: 0 })
    expect(runs).toHaveLength(1)
  })

  it('handles, when it starts, what had no handler before', async () => {
    const { store, inbox, becomes, worker, runs } = work({ start: false, pollMs: 2 ** 30 })
    const id = await store()
    await inbox.claim({ eventTypes: ['other'], limit: 1, leaseMs: 1 })
    await becomes(id, 'unhandled')
    worker.start()
    await becomes(id, 'handled')
    expect(runs).toMatchObject([{ event: { byOperator: false }, context: { attempt: 1 } }])
  })
})
