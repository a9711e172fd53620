import { randomUUID } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import { createWorker, DoNotRetryError } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const keyOf = ({ headers }: { headers: Record<string, string> }) => headers['X-Idempotency-Key']!
/** Whether it resolves while nothing else happens than what has begun. */
async function isResolved(promise: Promise<unknown>): Promise<boolean> {
  let resolved = false
  void promise.then(() => (resolved = true))
  for (let turn = 0; turn < 50; turn++) await nextTick()
  return resolved
}

describe('waitFor', () => {
  it.each([
    ['handled', () => {}],
    ['dead', () => Promise.reject(new DoNotRetryError('no such account'))],
  ])('resolves once the callback is %s, before and after it', async (state, handler) => {
    const { receiver, send } = await runInboxReceiver({ handler })
    const sent = genuine()
    const waiting = receiver.waitFor(keyOf(sent).toUpperCase())
    await send(sent)
    expect(await waiting).toEqual({ state, entryId: '1' })
    expect(await receiver.waitFor(keyOf(sent))).toEqual({ state, entryId: '1' })
  })

  it('resolves when the callback is in quarantine, and not with a suspect copy of one that runs', async () => {
    const { promise, resolve } = deferred()
    const { receiver, send } = await runInboxReceiver({ handler: () => promise })
    const [sent, conflict] = ['a', 'b'].map((Id) =>
      genuine({ payload: { Id }, idempotencyKey: '64b87e81-f9c7-4125-8565-b199c6e65b4f' }),
    )
    await send(sent!)
    await send(conflict!)
    const waiting = receiver.waitFor(keyOf(sent!))
    expect(await isResolved(waiting)).toBe(false)
    resolve()
    expect(await waiting).toEqual({ state: 'handled', entryId: '1' })
    const rewritten = genuine({ headers: { 'X-Event-Type': 'another.type' } })
    await send(rewritten)
    expect(await receiver.waitFor(keyOf(rewritten))).toEqual({ state: 'quarantined', entryId: '3' })
  })

  it('rejects after the time limit, and says what is known', async () => {
    const { receiver, send } = await runInboxReceiver({
      handler: () => Promise.reject(new Error('the ledger is closed')),
      retryDelayMs: 60_000,
    })
    const sent = genuine()
    await send(sent)
    await receiver.idle()
    await expect(receiver.waitFor(keyOf(sent), { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ERR_WAIT_TIMEOUT',
      message: expect.stringContaining('is retrying after 1 ms'),
    })
    await expect(receiver.waitFor(randomUUID(), { timeoutMs: 1 })).rejects.toThrow(/has not arrived/)
    await expect(receiver.waitFor('no-uuid')).rejects.toMatchObject({ code: 'ERR_OPTION_INVALID' })
  })

  it('works without an inbox, also for a repeat', async () => {
    const { receiver, send } = await runReceiver()
    const sent = genuine()
    for (const waiting of [receiver.waitFor(keyOf(sent)), receiver.waitFor(keyOf(sent))]) {
      await send(sent)
      expect(await waiting).toEqual({ state: 'handled', entryId: undefined })
    }
    await expect(receiver.waitFor(randomUUID(), { timeoutMs: 1 })).rejects.toThrow(
      /was not handled after 1 ms/,
    )
    await receiver.stop()
  })
})

describe('idle', () => {
  it('resolves once all that was stored has been handled', async () => {
    const { receiver, send, handled, entries } = await runInboxReceiver({ concurrency: 2, pollMs: 60_000 })
    await Promise.all(Array.from({ length: 20 }, () => send(genuine())))
    await receiver.idle()
    expect(handled).toHaveLength(20)
    expect(await entries({ states: ['handled'] })).toHaveLength(20)
  })

  it('waits for a handler that runs, and not for a retry that is due later', async () => {
    const { promise, reject } = deferred()
    const { inbox, receiver, send } = await runInboxReceiver({
      handler: () => promise,
      retryDelayMs: 60_000,
      pollMs: 60_000,
    })
    await send(genuine())
    const idle = receiver.idle()
    expect(await isResolved(idle)).toBe(false)
    reject(new Error('the ledger is closed'))
    await idle
    expect((await inbox.stats()).counts.retrying).toBe(1)
  })

  it('does not take an inbox that fails for an empty one', async () => {
    const inbox = new MemoryInbox()
    const { receiver, send } = await runInboxReceiver({ inbox, pollMs: 5 })
    await receiver.idle()
    const claim = jest.spyOn(inbox, 'claim').mockRejectedValue(new Error('the database is away'))
    await send(genuine())
    const idle = receiver.idle()
    expect(await isResolved(idle)).toBe(false)
    claim.mockRestore()
    await idle
    expect((await inbox.stats()).counts.handled).toBe(1)
  })

  it('resolves without an inbox, before the start, and when the receiver stops', async () => {
    const { receiver, send } = await runReceiver()
    await send(genuine())
    await receiver.idle()
    await receiver.stop()
    const inbox = await runInboxReceiver({ start: false })
    await inbox.receiver.idle()
    const { promise, resolve } = deferred()
    const running = await runInboxReceiver({ handler: () => promise })
    await running.send(genuine())
    const idle = running.receiver.idle()
    const stopped = running.receiver.stop()
    resolve()
    await Promise.all([idle, stopped])
  })

  it('is there in a worker as well', async () => {
    const inbox = new MemoryInbox()
    const worker = createWorker({ inbox, logger: silent, clock: fakeClock() })
    worker.on(subscription.eventTypeName, () => {})
    const stored = arrival()
    await inbox.add(stored)
    await worker.start()
    await worker.idle()
    expect(await worker.waitFor(stored.callback.idempotencyKey)).toEqual({ state: 'handled', entryId: '1' })
    await worker.stop()
  })
})

describe('onFailed', () => {
  it('is told of attempts that can be repeated, with entry and attempt, and not of the last one', async () => {
    const { receiver, send } = await runInboxReceiver({
      handler: () => Promise.reject(new Error('the ledger is closed')),
      retryDelayMs: 1,
      maxRetryDelayMs: 1,
      maxAttempts: 3,
    })
    const told = jest.fn()
    receiver.onFailed(told)
    const sent = genuine()
    await send(sent)
    expect(await receiver.waitFor(keyOf(sent))).toMatchObject({ state: 'dead' })
    await receiver.idle()
    expect(told.mock.calls.map(([{ entryId, attempt }]) => [entryId, attempt])).toEqual([
      ['1', 1],
      ['1', 2],
    ])
    expect(told.mock.calls[0][0]).toMatchObject({ code: 'ERR_HANDLER_FAILED', retryInMs: expect.any(Number) })
    expect(() => receiver.onFailed('no' as never)).toThrow(
      /onFailed: the listener is of type string: pass a function/,
    )
  })

  it('is told without an inbox, without the time of the next attempt, which the sender makes', async () => {
    const { receiver, send } = await runReceiver({ handler: () => Promise.reject(new Error('no')) })
    const told = jest.fn()
    receiver.onFailed(told)
    await send(genuine())
    expect(told.mock.calls).toEqual([
      [
        expect.objectContaining({
          entryId: undefined,
          attempt: 1,
          code: 'ERR_HANDLER_FAILED',
          retryInMs: undefined,
        }),
      ],
    ])
  })
})
