import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DoNotRetryError } from '../../src/index.js'
import { EventChannel, type ReceiverEvents, type StepEvents } from '../../src/events/event-channel.js'
import { AROUND, type AttemptResult, type SettleStep } from '../../src/events/steps.js'
import { SqliteInbox } from '../support/whole-inbox.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { inboxFile } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

const step = { entryId: '1', callback: {} as never, attempt: 1 }

function channel() {
  const errors: unknown[] = []
  return { events: new EventChannel((error) => errors.push(error)), errors }
}

/** What telemetry uses. */
const stepsOf = ({ events }: { readonly events: ReceiverEvents }) => events as StepEvents

describe('around', () => {
  it('takes the step within the hooks, the first one outermost', () => {
    const { events, errors } = channel()
    const order: string[] = []
    for (const name of ['first', 'second'])
      events.around('attempt', (_step, next) => {
        order.push(name)
        void next()
        order.push(`${name} ends`)
      })
    const result = events.within('attempt', step, () => {
      order.push('work')
      return { code: 'HANDLED' as const }
    })
    expect(result).toEqual({ code: 'HANDLED' })
    expect(order).toEqual(['first', 'second', 'work', 'second ends', 'first ends'])
    expect(errors).toEqual([])
  })

  it.each([
    [
      'throws before next',
      () => {
        throw new Error('mine')
      },
      'mine',
    ],
    [
      'throws after next',
      (next: () => unknown) => {
        next()
        throw new Error('mine')
      },
      'mine',
    ],
    ['does not call next', () => {}, 'a hook did not call next before it returned'],
    [
      'calls next late',
      async (next: () => unknown) => {
        await Promise.resolve()
        next()
      },
      'a hook did not call next before it returned',
    ],
    [
      'rejects',
      async (next: () => unknown) => {
        next()
        throw new Error('mine')
      },
      'mine',
    ],
  ])('takes the step once where a hook %s', async (_what, hook, message) => {
    const { events, errors } = channel()
    events.around('attempt', (_step, next) => hook(next))
    const work = jest.fn(() => ({ code: 'HANDLED' as const }))
    expect(await events.within('attempt', step, work)).toEqual({ code: 'HANDLED' })
    await until(() => errors.length > 0)
    expect(errors).toEqual([expect.objectContaining({ message })])
    expect(work).toHaveBeenCalledTimes(1)
  })

  it('takes the step once where a hook calls next twice, which returns the same result', () => {
    const { events, errors } = channel()
    let results: unknown[] = []
    events[AROUND]('settle', (_step, next) => (results = [next(), next()]))
    const work = jest.fn(() => true)
    expect(events.within('settle', { ...step, move: 'complete' }, work)).toBe(true)
    expect(results).toEqual([true, true])
    expect(work).toHaveBeenCalledTimes(1)
    expect(errors).toEqual([])
  })

  it('throws what the step throws, which is no error of the hook', () => {
    const { events, errors } = channel()
    const failure = new Error('of the store')
    events[AROUND]('settle', (_step, next) => next())
    const failing = () =>
      events.within('settle', { ...step, move: 'complete' }, () => {
        throw failure
      })
    expect(failing).toThrow(failure)
    expect(errors).toEqual([])
  })

  it.each([
    ['throws', () => void 0],
    ['rejects', () => Promise.resolve()],
  ])('passes on the error with which a step %s, which is none of an async hook', async (_how, before) => {
    const { events, errors } = channel()
    const failure = new Error('of the store')
    const ended: string[] = []
    events[AROUND]('settle', async (_step, next) => {
      try {
        await next()
      } finally {
        ended.push('passed on')
      }
    })
    events[AROUND]('settle', async (_step, next) => {
      try {
        await next()
      } catch {
        ended.push('wrapped')
        throw new Error('mine')
      }
    })
    const failing = async () =>
      events.within('settle', { ...step, move: 'complete' }, () => {
        const waiting = before()
        if (!waiting) throw failure
        return waiting.then(() => {
          throw failure
        })
      })
    await expect(failing()).rejects.toBe(failure)
    await until(() => ended.length === 2 && errors.length > 0)
    await nextTurn()
    expect(errors).toEqual([expect.objectContaining({ message: 'mine' })])
  })

  it('ends, and refuses what is no step or no function', () => {
    const { events } = channel()
    const end = events[AROUND]('accept', (_step, next) => next())
    expect(events.isSurrounded('accept')).toBe(true)
    end()
    end()
    expect(events.isSurrounded('accept')).toBe(false)
    expect(() => events.around('handled' as 'attempt', () => {})).toThrow(
      expect.objectContaining({
        code: 'ERR_HANDLER_INVALID',
        message: 'events.around: "handled" is not a step. The only one is attempt.',
      }),
    )
    expect(() => events.around('attempt', 1 as never)).toThrow(
      'events.around: the hook is of type number: pass a function.',
    )
  })
})

describe('receiver.events.around', () => {
  const storage = new AsyncLocalStorage<string>()

  it('runs handlers in an AsyncLocalStorage, without an inbox', async () => {
    const seen: unknown[] = []
    const { receiver, send } = await runReceiver({ handler: async () => seen.push(storage.getStore()) })
    stepsOf(receiver)[AROUND]('accept', ({ callback }, next) => storage.run(callback.type, next))
    const { status } = await send(genuine())
    expect(status).toBe(200)
    expect(seen).toEqual(['transfers.book-completed'])
  })

  it('has the headers of the request and the outcome', async () => {
    const { receiver, send } = await runReceiver()
    const steps: unknown[] = []
    stepsOf(receiver)[AROUND]('accept', (accepted, next) => {
      const { headerValues, arrivedAt } = accepted
      steps.push(headerValues('x-trace'), performance.now() - arrivedAt >= 0, next())
    })
    await send(genuine({ headers: { 'X-Trace': 'a' } }))
    expect(steps).toEqual([['a'], true, expect.anything()])
    expect(await steps[2]).toMatchObject({ code: 'HANDLED' })
  })

  it.each([
    ['in memory', () => undefined],
    ['in a file', () => new SqliteInbox({ file: inboxFile() })],
  ])('surrounds each attempt of a worker, with an inbox %s', async (_where, createInbox) => {
    const inbox = createInbox()
    const seen: unknown[] = []
    const results: AttemptResult[] = []
    const moves: SettleStep['move'][] = []
    const { receiver, send, becomes } = await runInboxReceiver({
      ...(inbox && { inbox }),
      retryDelayMs: 1,
      handler: async (_event, { attempt }) => {
        seen.push(storage.getStore())
        if (attempt === 1) throw new Error('once')
        throw new DoNotRetryError('never')
      },
    })
    receiver.events.around('attempt', ({ entryId, attempt }, next) => {
      const result = storage.run(`entry ${entryId}, attempt ${attempt}`, next)
      void Promise.resolve(result).then((ended) => results.push(ended))
    })
    stepsOf(receiver)[AROUND]('settle', ({ move }, next) => {
      moves.push(move)
      next()
    })
    await send(genuine())
    await becomes('1', 'dead')
    await until(() => results.length === 2)
    expect(seen).toEqual(['entry 1, attempt 1', 'entry 1, attempt 2'])
    expect(moves).toEqual(['reschedule', 'deadLetter'])
    expect(results).toEqual([
      { code: 'ERR_HANDLER_FAILED', error: expect.objectContaining({ message: 'once' }) },
      { code: 'ERR_HANDLER_FAILED', error: expect.objectContaining({ message: 'never' }) },
    ])
  })

  it('surrounds the release of a claim without an inbox', async () => {
    const moves: SettleStep['move'][] = []
    let fails = true
    const { receiver, send } = await runReceiver({
      handler: () => {
        if (fails) throw new Error('once')
      },
    })
    stepsOf(receiver)[AROUND]('settle', ({ move }, next) => {
      moves.push(move)
      next()
    })
    const callback = genuine()
    expect((await send(callback)).status).toBe(500)
    fails = false
    expect((await send(callback)).status).toBe(200)
    expect(moves).toEqual(['release', 'complete'])
  })

  it('logs what a hook throws, and handles the callback', async () => {
    const { receiver, send, handled, log } = await runReceiver()
    receiver.events.around('attempt', () => {
      throw new Error('of the hook')
    })
    expect((await send(genuine())).status).toBe(200)
    expect(handled).toHaveLength(1)
    expect(log.withCode('ERR_LISTENER_FAILED')).toHaveLength(1)
  })
})
