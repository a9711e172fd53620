import { createReceiver, DoNotRetryError, type Outcome } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { LIFECYCLE_EVENT_NAMES } from '../../src/events/lifecycle-events.js'
import type { Receiver } from '../../src/receiver/receiver.js'
import { fakeClock } from '../support/fake-clock.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { FORGED, genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

/** Every event of the receiver, by name. */
function collect(receiver: Receiver): [name: string, event: object][] {
  const events: [string, object][] = []
  for (const name of LIFECYCLE_EVENT_NAMES) receiver.events.on(name, (event) => events.push([name, event]))
  return events
}

const named = (events: readonly [string, object][]) => events.map(([name]) => name)
const callback = expect.objectContaining({ type: subscription.eventTypeName })
const forged = () => genuine({ headers: { Authorization: FORGED } })
const fails = () => Promise.reject(new Error('the ledger is closed'))

describe('a receiver without an inbox publishes', () => {
  it('what becomes of a callback that is handled, and of its repeat', async () => {
    const { receiver, send } = await runReceiver()
    const events = collect(receiver)
    const sent = genuine()
    await send(sent)
    expect(events).toEqual([
      ['accepted', { callback }],
      ['claimed', { entryId: undefined, callback, attempt: 1 }],
      ['handled', { entryId: undefined, callback, attempt: 1, durationMs: expect.any(Number) }],
      ['answered', expect.objectContaining({ outcome: expect.objectContaining({ code: 'HANDLED' }) })],
    ])
    events.length = 0
    await send(sent)
    expect(named(events)).toEqual(['accepted', 'answered', 'duplicate'])
    expect(events[2]![1]).toMatchObject({ callback, entryId: undefined })
  })

  it('a refusal, with what the request claims', async () => {
    const { receiver, send } = await runReceiver()
    const events = collect(receiver)
    const { idempotencyKey } = await sendForged(send)
    expect(named(events)).toEqual(['answered', 'refused'])
    expect(events[1]![1]).toMatchObject({
      unverified: { idempotencyKey, eventType: subscription.eventTypeName },
    })
  })

  it('a handler that fails, once: the answer has the same error', async () => {
    const { receiver, send } = await runReceiver({ handler: fails })
    const events = collect(receiver)
    const told = jest.fn()
    receiver.onError(told)
    await send(genuine())
    expect(named(events)).toEqual(['accepted', 'claimed', 'failed', 'answered'])
    expect(events[2]![1]).toMatchObject({
      entryId: undefined,
      attempt: 1,
      code: 'ERR_HANDLER_FAILED',
      error: new Error('the ledger is closed'),
      retryInMs: undefined,
    })
    expect(told).toHaveBeenCalledTimes(1)
  })
})

describe('a receiver with an inbox publishes', () => {
  it('the answer and the attempt, with the entry', async () => {
    const { receiver, send, becomes } = await runInboxReceiver()
    const events = collect(receiver)
    const sent = genuine()
    await send(sent)
    await becomes('1', 'handled')
    await until(() => events.length === 5)
    expect(named(events).sort()).toEqual(['accepted', 'answered', 'claimed', 'handled', 'stored'])
    for (const name of ['claimed', 'handled', 'stored'])
      expect(Object.fromEntries(events)[name]).toMatchObject({ entryId: '1', callback })
    events.length = 0
    await send(sent)
    expect(events.at(-1)).toEqual(['duplicate', expect.objectContaining({ entryId: '1', callback })])
  })

  it('quarantine, to onQuarantined as well', async () => {
    const { receiver, send } = await runInboxReceiver({ clock: fakeClock(Date.now() + 200_000_000) })
    const told = jest.fn()
    receiver.onQuarantined(told)
    const events = collect(receiver)
    await send(genuine())
    expect(named(events)).toEqual(['answered', 'quarantined'])
    expect(told).toHaveBeenCalledWith(expect.objectContaining({ entryId: '1', callback }))
    expect(told.mock.calls[0][0].outcome.code).toBe('ERR_TIMESTAMP_OUT_OF_TOLERANCE')
  })

  it('an attempt that fails and when the next one is due', async () => {
    const { receiver, send, becomes } = await runInboxReceiver({
      handler: fails,
      retryDelayMs: 60_000,
      maxRetryDelayMs: 60_000,
    })
    const events = collect(receiver)
    await send(genuine())
    await becomes('1', 'retrying')
    await until(() => named(events).includes('failed'))
    const failed = Object.fromEntries(events)['failed'] as { retryInMs: number }
    expect(failed).toMatchObject({ entryId: '1', attempt: 1, code: 'ERR_HANDLER_FAILED', callback })
    expect(failed.retryInMs).toBeGreaterThanOrEqual(30_000)
    expect(failed.retryInMs).toBeLessThanOrEqual(60_000)
  })

  it('a dead letter, to onDeadLetter as well, and nothing to onHandled', async () => {
    const { receiver, send, becomes } = await runInboxReceiver({
      handler: () => Promise.reject(new DoNotRetryError('no such account')),
    })
    const dead = jest.fn()
    const handled = jest.fn()
    receiver.onDeadLetter(dead).onHandled(handled)
    await send(genuine())
    await becomes('1', 'dead')
    await until(() => dead.mock.calls.length > 0)
    expect(dead.mock.calls).toEqual([
      [
        expect.objectContaining({
          entryId: '1',
          attempt: 1,
          callback,
          code: 'ERR_HANDLER_FAILED',
          reason: 'DoNotRetryError: no such account',
        }),
      ],
    ])
    expect(handled).not.toHaveBeenCalled()
  })
})

describe('onError', () => {
  it('is told of a failed attempt with the status that the callback was answered with', async () => {
    const { receiver, send, becomes } = await runInboxReceiver({ handler: fails })
    const told: [unknown, Outcome][] = []
    receiver.onError((...error) => told.push(error))
    expect(await send(genuine())).toMatchObject({ status: 200 })
    await becomes('1', 'retrying')
    await until(() => told.length === 1)
    expect(told[0]).toMatchObject([
      { message: 'the ledger is closed' },
      { status: 200, name: 'failed', code: 'ERR_HANDLER_FAILED', entryId: '1', attempt: 1, callback },
    ])
  })

  it('is told of a dead letter whose handlers were not called', async () => {
    const inbox = new MemoryInbox()
    const { receiver, send, becomes } = await runInboxReceiver({ inbox, maxAttempts: 1, start: false })
    const told: [unknown, Outcome][] = []
    receiver.onError((...error) => told.push(error))
    const [add, claim] = [inbox.add.bind(inbox), inbox.claim.bind(inbox)]
    inbox.add = (arrived) => add(arrived)
    inbox.claim = async (request) => {
      const claims = await claim(request)
      return { ...claims, entries: claims.entries.map((entry) => ({ ...entry, attempt: 2 })) }
    }
    await receiver.start()
    await send(genuine())
    await becomes('1', 'dead')
    await until(() => told.length === 1)
    expect(told[0]).toMatchObject([
      { code: 'ERR_CLAIM_LOST', message: expect.stringMatching(/^tried 1 times, and maxAttempts is 1/) },
      { status: 200, name: 'failed', code: 'ERR_CLAIM_LOST', entryId: '1' },
    ])
  })
})

it.each(['onHandled', 'onDeadLetter', 'onQuarantined'] as const)('%s takes functions only', (name) => {
  const receiver = createReceiver({ subscriptions: [subscription], logger: false })
  expect(() => receiver[name](undefined as never)).toThrow(
    expect.objectContaining({
      code: 'ERR_HANDLER_INVALID',
      message: `${name}: the listener is undefined: pass a function.`,
    }),
  )
})

async function sendForged(send: (request: ReturnType<typeof genuine>) => Promise<unknown>) {
  const sent = forged()
  await send(sent)
  return { idempotencyKey: sent.headers['X-Idempotency-Key'] }
}
