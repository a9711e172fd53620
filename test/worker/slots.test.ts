import { AsyncLocalStorage } from 'node:async_hooks'
import { arrival } from '../support/arrivals.js'
import { deferred } from '../support/deferred.js'
import { idleWorker } from '../support/idle-worker.js'
import { away } from '../support/interposed-inbox.js'
import type { WorkOptions } from '../support/running-worker.js'
import { turns } from '../support/turns.js'
import { until } from '../support/until.js'

describe('a slot', () => {
  it('is free when the handler has ended, while its end is being recorded', async () => {
    const { receive, called, runs, set, becomes } = await idleWorker({
      handler: 'manual',
      concurrency: 1,
    })
    const { promise: recorded, resolve: record } = deferred()
    set('settle', async (settle) => {
      await recorded
      return settle()
    })
    const ids = []
    for (let count = 0; count < 3; count++) ids.push((await receive(arrival())).id)
    for (const time of [1, 2]) (await called(time)).succeed()
    await turns()
    // As many ends are recorded beside the handlers as there are slots, and no more.
    expect(runs).toHaveLength(2)
    record()
    ;(await called(3)).succeed()
    for (const id of ids) await becomes(id, 'handled', 1)
  })
})

describe('the slots of a worker', () => {
  it('are free for arrivals while ends are recorded, as no handler runs', async () => {
    const { receive, set, runs, becomes } = await idleWorker({ concurrency: 1 })
    const gate = deferred()
    set('settle', (settle) => gate.promise.then(settle))
    const ids = []
    for (let count = 1; count <= 2; count++) {
      const added = await receive(arrival())
      expect('claim' in added).toBe(true)
      ids.push(added.id)
      await until(() => runs[count - 1]?.isOver === true)
      await turns()
    }
    // Otherwise an inbox that cannot record ends would have any number of entries interrupted.
    expect('claim' in (await receive(arrival()))).toBe(false)
    gate.resolve()
    for (const id of ids) await becomes(id, 'handled', 1)
  })

  it('are free again after an arrival that is a repeat, or that could not be stored', async () => {
    const { worker, receive, set } = await idleWorker({ concurrency: 1 })
    const known = arrival()
    await receive(known)
    await worker.idle()
    expect(await receive(known)).toMatchObject({ result: 'duplicate' })
    set('add', away)
    await expect(receive(arrival())).rejects.toThrow('the disk is away')
    set('add', undefined)
    await worker.idle()
    expect('claim' in (await receive(arrival()))).toBe(true)
  })

  it('are not lost to an inbox that hangs, and what it stores late is handed back and handled', async () => {
    const { worker, receive, set, store, runs, becomes, log } = await idleWorker({
      concurrency: 1,
      leaseMs: 100,
    })
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const late = receive(arrival({ idempotencyKey: 'late' }))
    set('add', undefined)
    await store({ idempotencyKey: 'meanwhile' })
    await until(() => {
      worker.wake()
      return runs.length === 1
    })
    expect(runs[0]!.event.idempotencyKey).toBe('meanwhile')
    gate.resolve()
    const { id } = await late
    await becomes(id, 'handled', 1)
    expect(log.text()).toContain('entry was handed back: its handlers were not begun')
  })
})

describe('a slot that was kept free for an arrival', () => {
  const slow = async (what: 'repeat' | 'refused', options: WorkOptions = {}) => {
    const working = await idleWorker(options)
    const known = arrival()
    await working.receive(known)
    await working.worker.idle()
    const gate = deferred()
    working.set('add', (add) => gate.promise.then(what === 'repeat' ? add : away))
    const added = Promise.resolve(working.receive(known)).catch(() => {})
    working.set('add', undefined)
    const end = async () => {
      await turns()
      gate.resolve()
      await added
    }
    return { ...working, end }
  }

  it.each(['repeat', 'refused'] as const)('is given to one that waits, if that is %s', async (what) => {
    const { receive, end, called } = await slow(what, { concurrency: 1 })
    await receive(arrival({ idempotencyKey: 'waits' }))
    await end()
    expect((await called(2)).event.idempotencyKey).toBe('waits')
  })

  it.each(['repeat', 'refused'] as const)('is not waited for by idle() if that is %s', async (what) => {
    const { worker, end } = await slow(what)
    const idle = worker.idle()
    await end()
    await idle
  })

  it('is given to a retry that became due meanwhile', async () => {
    const { worker, end, inbox, called } = await slow('repeat', { concurrency: 1 })
    const { id } = await inbox.add(arrival({ idempotencyKey: 'retry' }))
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 1_000 })
    await inbox.settle([{ claim: entries[0]!, end: { move: 'reschedule', delayMs: 0, error: 'busy' } }])
    worker.wake()
    await end()
    expect((await called(2)).event.idempotencyKey).toBe('retry')
    expect(entries[0]!.id).toBe(id)
  })
})

it('handlers run in the context of no request', async () => {
  const context = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const { receive, called, events } = await idleWorker({ handler: () => void seen.push(context.getStore()) })
  events.on('claimed', () => seen.push(context.getStore()))
  for (const name of ['a', 'b']) void context.run(name, () => receive(arrival()))
  await called(2)
  expect(seen).toEqual([undefined, undefined, undefined, undefined])
})

it('arrivals that cannot begin, all of one tick, are claimed in one step', async () => {
  const { receive, called, since } = await idleWorker({ concurrency: 50 })
  for (let count = 1; count <= 20; count++) void receive(arrival({ orderKey: `account ${count}` }))
  await called(20)
  await turns()
  expect(since('claim')).toBeLessThanOrEqual(2)
})
