import { ENGINE } from '../../src/inbox/inbox.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { idleWorker } from '../support/idle-worker.js'
import { never } from '../support/interposed-inbox.js'
import { becomes, work } from '../support/running-worker.js'
import { turns } from '../support/turns.js'
import { until } from '../support/until.js'

describe('a callback that arrives while a slot is free', () => {
  it('is handled without a claim, and the end is all that is written after it was stored', async () => {
    const { worker, receive, becomes, since } = await idleWorker()
    const added = await receive(arrival())
    await becomes(added.id, 'handled', 1)
    await worker.idle()
    expect([since('add'), since('begin'), since('settle')]).toEqual([1, 0, 1])
    // That of idle().
    expect(since('claim')).toBe(1)
  })

  it('is claimed if its first attempt is the last one, which must not count if the answer of the inbox is lost', async () => {
    const { receive, becomes, since } = await idleWorker({ maxAttempts: 1 })
    const { id } = await receive(arrival())
    await becomes(id, 'handled', 1)
    expect([since('claim'), since('begin')]).toEqual([1, 1])
  })

  it('gives its handler what an entry that was claimed gives', async () => {
    const { worker, receive, called, store } = await idleWorker()
    const traceContext = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await receive({ ...arrival({ idempotencyKey: 'key 1', body: '{"Id":"a"}' }), traceContext })
    const { event: begun, context } = await called(1)
    expect([context.attempt, begun.payload]).toEqual([1, { Id: 'a' }])
    await store({ idempotencyKey: 'key 2', body: '{"Id":"a"}' })
    worker.wake()
    const { event: claimed } = await called(2)
    expect(claimed).toEqual({ ...begun, idempotencyKey: 'key 2' })
  })

  it('is handled with the bytes and times as they arrived, whatever the application does with its own', async () => {
    const { receive, called } = await idleWorker()
    const arrived = arrival({ body: '{"Id":"a"}' })
    const { callback } = arrived
    const adding = receive(arrived)
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
    const { receive, runs } = await idleWorker()
    const answered: string[] = []
    await Promise.all(
      ['a', 'b'].map(async (name) => {
        await receive(arrival())
        answered.push(`${name} after ${runs.length} handlers`)
      }),
    )
    expect(answered).toEqual(['a after 0 handlers', 'b after 0 handlers'])
    await until(() => runs.length === 2)
  })

  it('is retried after a failure, when its delay is over, without a look in between', async () => {
    let fails = true
    const clock = fakeClock()
    const { receive, becomes } = await idleWorker({
      clock,
      inbox: new MemoryInbox({ clock }),
      retryDelayMs: 1,
      handler: () => {
        if (fails) throw new Error('busy')
      },
    })
    const { id } = await receive(arrival())
    await becomes(id, 'retrying', 1)
    fails = false
    clock.advance(10)
    await becomes(id, 'handled', 2)
  })

  it('is a dead letter after its last attempt', async () => {
    const { receive, becomes } = await idleWorker({
      maxAttempts: 1,
      handler: () => Promise.reject(new Error('account is closed')),
    })
    const { id } = await receive(arrival())
    expect(await becomes(id, 'dead', 1)).toMatchObject({ reason: 'Error: account is closed' })
  })

  it('is waited for by idle()', async () => {
    const { worker, receive, called, inbox } = await idleWorker({ handler: 'manual' })
    const { id } = await receive(arrival())
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

describe('a callback that arrives is stored to be claimed', () => {
  it('if all slots are in use, and is handled when one is free', async () => {
    const { receive, called, becomes, since } = await idleWorker({ handler: 'manual', concurrency: 2 })
    const added = []
    for (let count = 1; count <= 3; count++) added.push(await receive(arrival()))
    expect(added.map((each) => 'claim' in each)).toEqual([true, true, false])
    const first = await called(2)
    expect(since('claim')).toBe(0)
    first.succeed()
    const third = await called(3)
    third.succeed()
    await becomes(added[2]!.id, 'handled', 1)
  })

  it('if others wait that were stored before', async () => {
    const { worker, receive, store, runs, called } = await idleWorker({ handler: 'manual', concurrency: 1 })
    const first = await receive(arrival())
    await called(1)
    await store({ idempotencyKey: 'older' })
    worker.wake()
    await turns()
    runs[0]!.succeed()
    const added = await receive(arrival({ idempotencyKey: 'newer' }))
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
    const { receive } = await idleWorker()
    expect(await receive(arrival(parts))).toEqual({ result: 'stored', id: '1' })
  })

  it('if an interrupted entry is to be handled, alone', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const { id } = await inbox.add(arrival({ idempotencyKey: 'interrupted' }), { leaseMs: 10 })
    const { worker, receive, called, becomes } = await idleWorker({ clock, inbox, handler: 'manual' })
    clock.advance(10)
    worker.wake()
    const run = await called(1)
    expect(run.event.idempotencyKey).toBe('interrupted')
    expect('claim' in (await receive(arrival()))).toBe(false)
    run.succeed()
    await becomes(id, 'handled')
  })

  it('if the worker has not started, or stops', async () => {
    const { worker, receive } = work({ start: false })
    expect('claim' in (await receive(arrival()))).toBe(false)
    worker.start()
    await worker.idle()
    const stopped = worker.stop(1_000)
    expect('claim' in (await receive(arrival()))).toBe(false)
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
    const { worker, receive, called } = await idleWorker({ inbox: real })
    for (let count = 1; count <= 3; count++) {
      await receive(arrival())
      await called(count)
      await worker.idle()
    }
    expect(begins).toEqual([{ leaseMs: 60_000 }, undefined, undefined])
  })
})

describe('a stop', () => {
  it('waits for what is being stored, and for its handlers', async () => {
    const { worker, receive, set, called, inbox } = await idleWorker({ handler: 'manual' })
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const adding = receive(arrival())
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
    const { worker, receive, set, runs, becomes } = await idleWorker()
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const adding = receive(arrival())
    const stopped = worker.stop(1)
    await stopped
    gate.resolve()
    const { id } = await adding
    await becomes(id, 'stored', 0)
    expect(runs).toHaveLength(0)
  })
})

describe('an inbox of the application', () => {
  it('that makes a claim for another entry does not end the handlers of that one', async () => {
    const real = new MemoryInbox()
    const add = real.add.bind(real)
    const { receive, called, runs } = await idleWorker({ inbox: real, handler: 'manual' })
    await receive(arrival())
    await called(1)
    real.add = async (arrived, begin) => {
      const added = await add(arrived, begin)
      return 'claim' in added && added.claim ? { ...added, claim: { ...added.claim, id: '1' } } : added
    }
    await receive(arrival())
    await turns()
    expect(runs[0]!.context.signal.aborted).toBe(false)
  })

  it('that gives the id of an entry that is running to an arrival has it handed back, and handled later', async () => {
    const [one, other] = [new MemoryInbox(), new MemoryInbox()]
    let current = one
    const inbox = new Proxy(one, {
      get(_target, name, proxy) {
        if (name === ENGINE) return proxy as unknown
        const value: unknown = Reflect.get(current, name)
        return typeof value === 'function' ? value.bind(current) : value
      },
    })
    const { receive, called, runs } = await idleWorker({
      inbox,
      handler: 'manual',
      maxAttempts: 1,
      pollMs: 5,
    })
    await receive(arrival({ idempotencyKey: 'old' }))
    await called(1)
    current = other
    const { id } = await receive(arrival({ idempotencyKey: 'new' }))
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
    const adding = Promise.resolve(nothing.receive(arrival())).catch(() => {})
    await nothing.worker.stop(60_000)
    await adding
    const hangs = await idleWorker({ leaseMs: 20 })
    hangs.set('add', never)
    void hangs.receive(arrival())
    await hangs.worker.stop(60_000)
    expect(hangs.log.text()).not.toContain('still in progress')
  })
})
