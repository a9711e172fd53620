import { CountersignError, type Outcome } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { deferred } from '../support/deferred.js'
import { away, interposed, never } from '../support/interposed-inbox.js'
import { runInboxReceiver, type InboxRunOptions } from '../support/running-inbox-receiver.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { turns } from '../support/turns.js'
import { until } from '../support/until.js'

function runInterposed(options: InboxRunOptions = {}) {
  const between = interposed(new MemoryInbox())
  return runInboxReceiver({ inbox: between.inbox, ...options }).then((running) => ({
    ...between,
    ...running,
  }))
}

describe('a receiver with an inbox', () => {
  it('answers before the handler has finished', async () => {
    const gate = deferred()
    const { send, handled, becomes } = await runInboxReceiver({ handler: () => gate.promise })
    expect(await send(genuine())).toMatchObject({ status: 200 })
    await until(() => handled.length === 1)
    gate.resolve()
    await becomes('1', 'handled')
  })

  it('answers before a handler begins that blocks the event loop', async () => {
    const order: string[] = []
    const { receiver, send, handled } = await runInboxReceiver({ handler: () => void order.push('handler') })
    receiver.onOutcome(() => order.push('answer'))
    await receiver.idle()
    await send(genuine())
    await until(() => handled.length === 1)
    expect(order).toEqual(['answer', 'handler'])
  })

  it('parses the body once if it handles the callback as it arrives', async () => {
    const { receiver, send, handled } = await runInboxReceiver()
    await receiver.idle()
    const callback = genuine()
    const parse = jest.spyOn(JSON, 'parse')
    await send(callback)
    await until(() => handled.length === 1)
    const parsed = parse.mock.calls.filter(([text]) => text === callback.body.toString())
    parse.mockRestore()
    expect(parsed).toHaveLength(1)
  })

  it('reports what may be a replay of something deleted as out of tolerance', async () => {
    const { send, set, outcomes, handled } = await runInterposed()
    set('add', async () => ({ result: 'quarantined', id: '1', why: 'forgotten' }) as const)
    expect(await send(genuine())).toMatchObject({ status: 200 })
    expect(outcomes).toMatchObject([{ code: 'ERR_TIMESTAMP_OUT_OF_TOLERANCE', name: 'quarantined' }])
    expect(handled).toEqual([])
  })

  it('answers only after the callback was stored', async () => {
    const { send, set, handled } = await runInterposed()
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    let answered = false
    const sent = send(genuine()).finally(() => (answered = true))
    await turns(50)
    expect(answered).toBe(false)
    gate.resolve()
    expect(await sent).toMatchObject({ status: 200 })
    await until(() => handled.length === 1)
  })

  it('handles what was stored at once, without waiting until it looks again', async () => {
    const { send, handled } = await runInboxReceiver({ pollMs: 2 ** 30 })
    for (let count = 1; count <= 3; count++) {
      await send(genuine())
      await until(() => handled.length === count)
    }
  })

  it('tells of a repeat when a callback was stored after the sender had been told to come back', async () => {
    const { send, set, handled, entries } = await runInterposed({ dependencyTimeoutMs: 10 })
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const callback = genuine()
    expect(await send(callback)).toMatchObject({ status: 503 })
    gate.resolve()
    set('add', undefined)
    await until(() => handled.length === 1)
    expect(await send(callback)).toMatchObject({ status: 200 })
    expect(await entries()).toMatchObject([{ copies: 1 }])
  })

  it('handles events of one orderBy key one after the other', async () => {
    const finish = [deferred(), deferred(), deferred()]
    const { send, handled, becomes, inbox } = await runInboxReceiver({
      orderBy: ({ payload }) => payload['account'] as string,
      handler: ({ payload }) => finish[payload['n'] as number]!.promise,
    })
    for (const [n, account] of ['a', 'a', 'b'].entries())
      await send(genuine({ payload: { Id: '1', n, account } }))
    await until(() => handled.length === 2)
    expect(handled.map(({ payload }) => payload['n'])).toEqual([0, 2])
    expect(await inbox.show('2')).toMatchObject({ state: 'stored' })
    for (const { resolve } of finish) resolve()
    await becomes('2', 'handled')
  })

  it('handles events of one orderBy key one after the other also if they were released from quarantine', async () => {
    const finish = [deferred(), deferred(), deferred()]
    const { inbox, send, handled, receiver } = await runInboxReceiver({
      toleranceMs: 1_000,
      orderBy: ({ type, payload }) => `${type} ${payload['account'] as string}`,
      handler: ({ payload }) => finish[payload['n'] as number]!.promise,
    })
    const timestamp = new Date(Date.now() - 60_000)
    await send(genuine({ payload: { Id: '1', n: 0, account: 'a' }, timestamp }))
    await send(genuine({ payload: { Id: '1', n: 1, account: 'a' }, eventType: 'rewritten' }))
    await send(genuine({ payload: { Id: '1', n: 2, account: 'b' }, timestamp }))
    for (const id of ['1', '2', '3']) expect(await inbox.act(id, 'release', 'ann')).toEqual({ done: true })
    await until(() => handled.length === 2)
    expect(handled.map(({ payload }) => payload['n'])).toEqual([0, 2])
    for (const { resolve } of finish) resolve()
    await receiver.idle()
    expect(handled.map(({ payload }) => payload['n'])).toEqual([0, 2, 1])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('no account')
      },
      'no account',
    ],
    [
      'returns no text',
      () => 7 as never,
      'orderBy returned a value of type number: return a text or undefined',
    ],
    [
      'returns a promise',
      () => Promise.resolve('a') as never,
      'orderBy returned a value of type object: return a text or undefined',
    ],
  ])('stores a callback also when orderBy %s', async (_what, orderBy, message) => {
    const { send, handled, log } = await runInboxReceiver({ orderBy })
    expect(await send(genuine())).toMatchObject({ status: 200 })
    await until(() => handled.length === 1)
    const logged = { fields: { err: { message } }, message: 'orderBy failed: the event has no order' }
    expect(log.withCode('ERR_ORDER_BY_FAILED')).toMatchObject([logged])
  })

  it('tells onError of each attempt that failed', async () => {
    const told: [unknown, Outcome][] = []
    const { receiver, send, becomes } = await runInboxReceiver({
      handler: () => Promise.reject(new Error('the ledger is closed')),
    })
    receiver.onError((error, outcome) => told.push([error, outcome]))
    await send(genuine())
    await becomes('1', 'retrying')
    expect(told).toMatchObject([
      [
        { message: 'the ledger is closed' },
        { code: 'ERR_HANDLER_FAILED', callback: { type: 'transfers.book-completed' } },
      ],
    ])
  })

  it('handles, once there is a handler, what came when there was none', async () => {
    const inbox = new MemoryInbox()
    const before = await runInboxReceiver({ inbox, handler: null })
    await before.send(genuine())
    await before.becomes('1', 'stored')
    await before.receiver.stop()

    const { handled, becomes } = await runInboxReceiver({ inbox })
    await becomes('1', 'handled')
    expect(handled).toMatchObject([{ type: subscription.eventTypeName, byOperator: false }])
  })
})

describe('start', () => {
  it('opens the inbox once, however often it is called', async () => {
    const { receiver, calls } = await runInterposed()
    await Promise.all([receiver.start(), receiver.start()])
    expect(calls).toMatchObject({ open: 1 })
  })

  it('rejects with the error of an inbox that cannot be opened, and takes nothing in', async () => {
    const { receiver, set, send } = await runInterposed({ start: false })
    set('open', away)
    await expect(receiver.start()).rejects.toThrow('the disk is away')
    expect(receiver.ready).toBe(false)
    expect(await send(genuine())).toMatchObject({ status: 503 })
  })

  it('works when it is called again after what was wrong has been put right', async () => {
    const { receiver, set, send, handled } = await runInterposed({ start: false })
    set('open', away)
    await expect(receiver.start()).rejects.toThrow('the disk is away')
    set('open', undefined)
    await receiver.start()
    expect(receiver.ready).toBe(true)
    expect(await send(genuine())).toMatchObject({ status: 200 })
    await until(() => handled.length === 1)
  })
})

describe('an inbox that a newer version has migrated', () => {
  it('makes the receiver not ready until a callback can be stored again', async () => {
    const { receiver, set, send } = await runInterposed()
    set('add', () => Promise.reject(new CountersignError('ERR_INBOX_NEWER', 'migrated')))
    expect(await send(genuine())).toMatchObject({ status: 503 })
    expect(receiver.ready).toBe(false)
    set('add', undefined)
    expect(await send(genuine())).toMatchObject({ status: 200 })
    expect(receiver.ready).toBe(true)
  })

  it('is not what an inbox is that cannot be written for a moment', async () => {
    const { receiver, set, send } = await runInterposed()
    set('add', away)
    expect(await send(genuine())).toMatchObject({ status: 503 })
    expect(receiver.ready).toBe(true)
  })
})

it('an inbox whose disk fails makes the receiver not ready until the inbox can be opened again', async () => {
  const { receiver, set, send } = await runInterposed()
  const fails = () => Promise.reject(new CountersignError('ERR_INBOX_IO', 'the disk has failed'))
  set('add', fails)
  set('open', fails)
  expect(await send(genuine())).toMatchObject({ status: 503 })
  expect(receiver.ready).toBe(false)
  set('open', undefined)
  await until(() => receiver.ready)
})

describe('stop', () => {
  it('lets handlers finish and records it, then closes the inbox', async () => {
    const gate = deferred()
    const { receiver, send, handled, calls, inbox } = await runInterposed({
      handler: () => gate.promise,
      stopTimeoutMs: 10_000,
    })
    await send(genuine())
    await until(() => handled.length === 1)
    const stopped = receiver.stop()
    expect(calls.close).toBe(0)
    gate.resolve()
    await stopped
    expect(calls.close).toBe(1)
    expect(await inbox.show('1')).toMatchObject({ state: 'handled' })
  })

  it('is safe to call twice', async () => {
    const { receiver, calls } = await runInterposed()
    await Promise.all([receiver.stop(), receiver.stop()])
    await receiver.stop()
    expect(calls.close).toBe(1)
  })

  it('closes the inbox only after what is being stored has been stored and handled, and answers 200 for it', async () => {
    const { receiver, send, set, calls, inbox } = await runInterposed({ stopTimeoutMs: 10_000 })
    const gate = deferred()
    set('add', (add) => gate.promise.then(add))
    const sent = send(genuine())
    await until(() => calls.add === 1)
    const stopped = receiver.stop()
    await turns(50)
    expect(calls.close).toBe(0)
    gate.resolve()
    expect(await sent).toMatchObject({ status: 200 })
    await stopped
    expect(await inbox.show('1')).toMatchObject({ state: 'handled' })
  })

  it('does not wait for ever for an inbox that hangs, and lets the process end', async () => {
    const timers = activeTimers()
    const { receiver, send, set, calls } = await runInterposed({ stopTimeoutMs: 20, dependencyTimeoutMs: 10 })
    set('add', never)
    expect(await send(genuine())).toMatchObject({ status: 503 })
    await receiver.stop()
    expect(calls.close).toBe(1)
    expect(activeTimers()).toBeLessThanOrEqual(timers)
  })

  it('leaves nothing running when it comes while the inbox is being opened', async () => {
    const { receiver, set, calls } = await runInterposed({ start: false })
    const gate = deferred()
    set('open', (open) => gate.promise.then(open))
    const started = receiver.start()
    const stopped = receiver.stop()
    gate.resolve()
    await Promise.all([started, stopped])
    expect(calls).toMatchObject({ open: 1, claim: 0, close: 1 })
  })
})

/** How many timers keep the process alive. */
function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}
