import { AsyncLocalStorage } from 'node:async_hooks'
import type { CompleteInbox } from '../../src/inbox/operations.js'
import { MemoryInbox } from '../../src/inbox/memory-inbox.js'
import { arrival } from '../support/arrivals.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { away, interposed, never } from '../support/interposed-inbox.js'
import { becomes, work, type WorkOptions } from '../support/running-worker.js'
import { until } from '../support/until.js'

/** A worker that has asked once, and found nothing, so that arrivals may begin. It does not ask again by itself. */
async function idleWorker({
  inbox = new MemoryInbox(),
  ...options
}: WorkOptions & { inbox?: CompleteInbox } = {}) {
  const between = interposed(inbox)
  const working = work({ inbox: between.inbox, pollMs: 2 ** 30, ...options })
  await working.worker.idle()
  const asked = { ...between.calls }
  const since = (name: keyof typeof asked) => between.calls[name] - asked[name]
  return { ...working, ...between, since }
}

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a callback that arrives while a slot is free', () => {
  it('is handled without a claim, and the end is all that is written after it was stored', async () => {
    const { worker, becomes, since } = await idleWorker()
    const added = await worker.add(arrival())
    await becomes(added.id, 'handled', 1)
    await worker.idle()
    expect([since('add'), since('begin'), since('settle')]).toEqual([1, 0, 1])
    // That of idle().
    expect(since('claim')).toBe(1)
  })

  it('gives its handler what an entry that was claimed gives', async () => {
    const { worker, called, store } = await idleWorker()
    const traceContext = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await worker.add({ ...arrival({ idempotencyKey: 'key 1', body: '{"Id":"a"}' }), traceContext })
    const { event: begun, context } = await called(1)
    expect(begun.traceContext).toBe(traceContext)
    expect([context.attempt, begun.payload]).toEqual([1, { Id: 'a' }])
    await store({ idempotencyKey: 'key 2', body: '{"Id":"a"}' })
    worker.wake()
    const { event: claimed } = await called(2)
    const { idempotencyKey: _, traceContext: __, ...rest } = begun
    expect(claimed).toEqual({ ...rest, idempotencyKey: 'key 2' })
  })

  it('is handled with the bytes and times as they arrived, whatever the application does with its own', async () => {
    const { worker, called } = await idleWorker()
    const arrived = arrival({ body: '{"Id":"a"}' })
    const { callback } = arrived
    const adding = worker.add(arrived)
    callback.rawBody.fill(0)
    callback.signedAt.setTime(0)
    callback.receivedAt.setTime(0)
    await adding
    const { event } = await called(1)
    expect(event.rawBody.toString()).toBe('{"Id":"a"}')
    expect(Number(event.signedAt)).toBeGreaterThan(0)
    expect(Number(event.receivedAt)).toBeGreaterThan(0)
  })

  it('begins after the callbacks of its tick have been answered', async () => {
    const { worker, runs } = await idleWorker()
    const answered: string[] = []
    await Promise.all(
      ['a', 'b'].map(async (name) => {
        await worker.add(arrival())
        answered.push(`${name} after ${runs.length} handlers`)
      }),
    )
    expect(answered).toEqual(['a after 0 handlers', 'b after 0 handlers'])
    await until(() => runs.length === 2)
  })

  it('is retried after a failure, when its delay is over, without a look in between', async () => {
    let fails = true
    const clock = fakeClock()
    const { worker, becomes } = await idleWorker({
      clock,
      inbox: new MemoryInbox({ clock }),
      retryDelayMs: 1,
      handler: () => {
        if (fails) throw new Error('busy')
      },
    })
    const { id } = await worker.add(arrival())
    await becomes(id, 'retrying', 1)
    fails = false
    clock.advance(10)
    await becomes(id, 'handled', 2)
  })

  it('is a dead letter after its last attempt', async () => {
    const { worker, becomes } = await idleWorker({
      maxAttempts: 1,
      handler: () => Promise.reject(new Error('account is closed')),
    })
    const { id } = await worker.add(arrival())
    expect(await becomes(id, 'dead', 1)).toMatchObject({ reason: 'Error: account is closed' })
  })

  it('is waited for by idle()', async () => {
    const { worker, called, inbox } = await idleWorker({ handler: 'manual' })
    const { id } = await worker.add(arrival())
    let isIdle = false
    const idle = worker.idle().then(() => (isIdle = true))
    const run = await called(1)
    await turns()
    expect(isIdle).toBe(false)
    run.succeed()
    await idle
    expect(await inbox.show(id)).toMatchObject({ state: 'handled' })
  })
})

describe('a slot', () => {
  it('is free when the handler has ended, while its end is being recorded', async () => {
    const { worker, called, runs, set, becomes } = await idleWorker({
      handler: 'manual',
      concurrency: 1,
    })
    const { promise: recorded, resolve: record } = deferred()
    set('settle', async (settle) => {
      await recorded
      return settle()
    })
    const ids = []
    for (let count = 0; count < 3; count++) ids.push((await worker.add(arrival())).id)
    for (const time of [1, 2]) (await called(time)).succeed()
    await turns()
    // As many ends are recorded beside the handlers as there are slots, and no more.
    expect(runs).toHaveLength(2)
    record()
    ;(await called(3)).succeed()
    for (const id of ids) await becomes(id, 'handled', 1)
  })
})

describe('a callback that arrives is stored to be claimed', () => {
  it('if all slots are in use, and is handled when one is free', async () => {
    const { worker, called, becomes, since } = await idleWorker({ handler: 'manual', concurrency: 2 })
    const added = []
    for (let count = 1; count <= 3; count++) added.push(await worker.add(arrival()))
    expect(added.map((each) => 'claim' in each)).toEqual([true, true, false])
    const first = await called(2)
    expect(since('claim')).toBe(0)
    first.succeed()
    const third = await called(3)
    third.succeed()
    await becomes(added[2]!.id, 'handled', 1)
  })

  it('if others wait that were stored before', async () => {
    const { worker, store, runs, called } = await idleWorker({ handler: 'manual', concurrency: 1 })
    const first = await worker.add(arrival())
    await called(1)
    await store({ idempotencyKey: 'older' })
    worker.wake()
    await turns()
    runs[0]!.succeed()
    const added = await worker.add(arrival({ idempotencyKey: 'newer' }))
    expect([first, added].map((each) => 'claim' in each)).toEqual([true, false])
    const next = await called(2)
    expect(next.event.idempotencyKey).toBe('older')
    next.succeed()
    expect((await called(3)).event.idempotencyKey).toBe('newer')
  })

  it.each([
    ['it has an order', { orderKey: 'account 1' }],
    ['its type has no handler', { type: 'accounts.updated' }],
  ])('if %s', async (_why, parts) => {
    const { worker } = await idleWorker()
    expect(await worker.add(arrival(parts))).toEqual({ result: 'stored', id: '1' })
  })

  it('if an interrupted entry is to be handled, alone', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const { id } = await inbox.add(arrival({ idempotencyKey: 'interrupted' }), { leaseMs: 10 })
    const { worker, called, becomes } = await idleWorker({ clock, inbox, handler: 'manual' })
    clock.advance(10)
    worker.wake()
    const run = await called(1)
    expect(run.event.idempotencyKey).toBe('interrupted')
    expect('claim' in (await worker.add(arrival()))).toBe(false)
    run.succeed()
    await becomes(id, 'handled')
  })

  it('if the worker has not started, or stops', async () => {
    const { worker } = work({ start: false })
    expect('claim' in (await worker.add(arrival()))).toBe(false)
    worker.start()
    await worker.idle()
    const stopped = worker.stop(1_000)
    expect('claim' in (await worker.add(arrival()))).toBe(false)
    await stopped
  })

  it('by an inbox that ignores that it could begin, which is then not asked again', async () => {
    const real = new MemoryInbox()
    const begins: unknown[] = []
    const add = real.add.bind(real)
    real.add = (arrived, begin) => {
      begins.push(begin)
      return add(arrived)
    }
    const { worker, called } = await idleWorker({ inbox: real })
    for (let count = 1; count <= 3; count++) {
      await worker.add(arrival())
      await called(count)
      await worker.idle()
    }
    expect(begins).toEqual([{ leaseMs: 60_000 }, undefined, undefined])
  })
})

describe('the slots of a worker', () => {
  it('are free for arrivals while ends are recorded, as no handler runs', async () => {
    const { worker, set, runs, becomes } = await idleWorker({ concurrency: 1 })
    const gate = deferred()
    set('settle', (settle) => gate.promise.then(settle))
    const ids = []
    for (let count = 1; count <= 2; count++) {
      const added = await worker.add(arrival())
      expect('claim' in added).toBe(true)
      ids.push(added.id)
      await until(() => runs[count - 1]?.isOver === true)
      await turns()
    }
    // Otherwise an inbox that cannot record ends would have any number of entries interrupted.
    expect('claim' in (await worker.add(arrival()))).toBe(false)
    gate.resolve()
    for (const id of ids) await becomes(id, 'handled', 1)
  })

  it('are free again after an arrival that is a repeat, or that could not be stored', async () => {
    const { worker, set } = await idleWorker({ concurrency: 1 })
    const known = arrival()
    await worker.add(known)
    await worker.idle()
    expect(await worker.add(known)).toMatchObject({ result: 'duplicate' })
    set('add', away)
    await expect(worker.add(arrival())).rejects.toThrow('the disk is away')
    set('add', undefined)
    await worker.idle()
    expect('claim' in (await worker.add(arrival()))).toBe(true)
  })

  it('are not lost to an inbox that hangs, and what it stores late is handed back and handled', async () => {
    const { worker, set, store, runs, becomes, log } = await idleWorker({ concurrency: 1, leaseMs: 100 })
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const late = worker.add(arrival({ idempotencyKey: 'late' }))
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

describe('a stop', () => {
  it('waits for what is being stored, and for its handlers', async () => {
    const { worker, set, called, inbox } = await idleWorker({ handler: 'manual' })
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const adding = worker.add(arrival())
    let isStopped = false
    const stopped = worker.stop(60_000).then(() => (isStopped = true))
    await turns()
    gate.resolve()
    const { id } = await adding
    const run = await called(1)
    await turns()
    expect(isStopped).toBe(false)
    run.succeed()
    await stopped
    expect(await inbox.show(id)).toMatchObject({ state: 'handled' })
  })

  it('begins no handlers once it has aborted them, and hands back', async () => {
    const { worker, set, runs, becomes } = await idleWorker()
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const adding = worker.add(arrival())
    const stopped = worker.stop(1)
    await stopped
    gate.resolve()
    const { id } = await adding
    await becomes(id, 'stored', 0)
    expect(runs).toHaveLength(0)
  })
})

describe('a slot that was kept free for an arrival', () => {
  const slow = async (what: 'repeat' | 'refused', options: WorkOptions = {}) => {
    const working = await idleWorker(options)
    const known = arrival()
    await working.worker.add(known)
    await working.worker.idle()
    const gate = deferred()
    working.set('add', (add) => gate.promise.then(what === 'repeat' ? add : away))
    const added = Promise.resolve(working.worker.add(known)).catch(() => {})
    working.set('add', undefined)
    const end = async () => {
      await turns()
      gate.resolve()
      await added
    }
    return { ...working, end }
  }

  it.each(['repeat', 'refused'] as const)('is given to one that waits, if that is %s', async (what) => {
    const { worker, end, called } = await slow(what, { concurrency: 1 })
    await worker.add(arrival({ idempotencyKey: 'waits' }))
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
  const { worker, called, events } = await idleWorker({ handler: () => void seen.push(context.getStore()) })
  events.subscribe('claimed', () => seen.push(context.getStore()))
  for (const name of ['a', 'b']) void context.run(name, () => worker.add(arrival()))
  await called(2)
  expect(seen).toEqual([undefined, undefined, undefined, undefined])
})

it('arrivals that cannot begin, all of one tick, are claimed in one step', async () => {
  const { worker, called, since } = await idleWorker({ concurrency: 50 })
  for (let count = 1; count <= 20; count++) void worker.add(arrival({ orderKey: `account ${count}` }))
  await called(20)
  await turns()
  expect(since('claim')).toBeLessThanOrEqual(2)
})

describe('an inbox of the application', () => {
  it('that makes a claim for another entry does not end the handlers of that one', async () => {
    const real = new MemoryInbox()
    const add = real.add.bind(real)
    const { worker, called, runs } = await idleWorker({ inbox: real, handler: 'manual' })
    await worker.add(arrival())
    await called(1)
    real.add = async (arrived, begin) => {
      const added = await add(arrived, begin)
      return 'claim' in added && added.claim ? { ...added, claim: { ...added.claim, id: '1' } } : added
    }
    await worker.add(arrival())
    await turns()
    expect(runs[0]!.context.signal.aborted).toBe(false)
  })

  it('that gives the id of an entry that is running to an arrival has it handed back, and handled later', async () => {
    const [one, other] = [new MemoryInbox(), new MemoryInbox()]
    let current = one
    const inbox = new Proxy(one, {
      get(_target, name) {
        const value: unknown = Reflect.get(current, name)
        return typeof value === 'function' ? value.bind(current) : value
      },
    })
    const { worker, called, runs } = await idleWorker({ inbox, handler: 'manual', maxAttempts: 1, pollMs: 5 })
    await worker.add(arrival({ idempotencyKey: 'old' }))
    await called(1)
    current = other
    const { id } = await worker.add(arrival({ idempotencyKey: 'new' }))
    await turns()
    runs[0]!.succeed()
    const run = await called(2)
    expect([run.event.idempotencyKey, run.context.attempt]).toEqual(['new', 1])
    run.succeed()
    await becomes(other, id, 'handled', 1)
  })

  it('that resolves to nothing, or never, does not hold up a stop', async () => {
    const nothing = await idleWorker()
    nothing.set('add', () => Promise.resolve(undefined as never))
    const adding = Promise.resolve(nothing.worker.add(arrival())).catch(() => {})
    await nothing.worker.stop(60_000)
    await adding
    const hangs = await idleWorker({ leaseMs: 20 })
    hangs.set('add', never)
    void hangs.worker.add(arrival())
    await hangs.worker.stop(60_000)
    expect(hangs.log.text()).not.toContain('still running')
  })
})
