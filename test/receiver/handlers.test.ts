import { createReceiver, type Handler, type Outcome } from '../../src/index.js'
import { deferred } from '../support/deferred.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const TYPE = subscription.eventTypeName

describe('several handlers', () => {
  it('run side by side, and the callback has been handled when all have finished', async () => {
    const [first, second] = [deferred(), deferred()]
    const started: string[] = []
    const { receiver, send, outcomes } = await runReceiver({ handler: null })
    receiver.on(TYPE, () => (started.push('first'), first.promise))
    receiver.on(TYPE, () => (started.push('second'), second.promise))
    receiver.onAny(() => started.push('any'))
    const answer = send(genuine())
    await until(() => started.length === 3)
    second.resolve()
    expect(outcomes).toEqual([])
    first.resolve()
    expect(await answer).toMatchObject({ status: 200 })
    expect(started).toEqual(['first', 'second', 'any'])
  })

  it('all finish before a failure of one of them is answered', async () => {
    const slow = deferred()
    const finished: string[] = []
    const { receiver, send, outcomes } = await runReceiver({ handler: () => Promise.reject(new Error('no')) })
    receiver.on(TYPE, () => slow.promise.then(() => finished.push('slow')))
    const answer = send(genuine())
    slow.resolve()
    expect(await answer).toMatchObject({ status: 500 })
    expect(finished).toEqual(['slow'])
    expect(outcomes[0]?.code).toBe('ERR_HANDLER_FAILED')
  })

  it('that fail and run out of time are answered as a timeout, as one of them still runs', async () => {
    const { receiver, send, outcomes } = await runReceiver({ handler: () => Promise.reject(new Error('no')) })
    receiver.on(TYPE, () => new Promise(() => {}), { timeoutMs: 20 })
    await send(genuine())
    expect(outcomes[0]?.code).toBe('ERR_HANDLER_TIMEOUT')
  })

  it('each have a time of their own', async () => {
    const signals: boolean[] = []
    const { receiver, send } = await runReceiver({ handler: null })
    const listens: Handler = (_event, { signal }) =>
      new Promise<void>((resolve) =>
        signal.addEventListener('abort', () => {
          signals.push(signal.aborted)
          resolve()
        }),
      )
    const patient = deferred()
    receiver.on(TYPE, listens, { timeoutMs: 20 })
    receiver.on(TYPE, async (_event, { signal }) => {
      await patient.promise
      signals.push(signal.aborted)
    })
    const answer = send(genuine())
    await until(() => signals.length === 1)
    patient.resolve()
    await answer
    expect(signals).toEqual([true, false])
  })
})

describe('onUnhandled', () => {
  it('is given what has no other handler, and nothing else', async () => {
    const other = { ...subscription, eventTypeName: 'accounts.closed', secret: 'another secret' }
    const { receiver, send, handled } = await runReceiver({ subscriptions: [subscription, other] })
    const unhandled: string[] = []
    receiver.onUnhandled(({ type }) => unhandled.push(type))
    await send(genuine())
    await send(genuine({ subscription: other }))
    expect(unhandled).toEqual(['accounts.closed'])
    expect(handled).toHaveLength(1)
  })
})

describe('the context of a handler', () => {
  it('has a logger that adds key, type and attempt to each line', async () => {
    const idempotencyKey = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
    let line: unknown
    const { send, log } = await runReceiver({
      handler(_event, { logger }) {
        logger.info({ own: 1 }, 'from the handler')
        line = log.lines[0]
      },
    })
    await send(genuine({ idempotencyKey }))
    expect(line).toEqual({
      level: 'info',
      fields: { idempotencyKey, eventType: TYPE, attempt: 1, own: 1 },
      message: 'from the handler',
    })
  })

  it('has a signal that is aborted with the reason when time is up', async () => {
    let reason: unknown
    const { send } = await runReceiver({
      handlerTimeoutMs: 20,
      handler: (_event, { signal }) =>
        new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            reason = signal.reason
            resolve()
          }),
        ),
    })
    await send(genuine())
    expect(reason).toMatchObject({ message: 'the handler took longer than 20 ms' })
  })

  it('has a signal that is aborted already when it is first asked for too late', async () => {
    const late = deferred()
    let aborted: boolean | undefined
    const { send } = await runReceiver({
      handlerTimeoutMs: 20,
      async handler(_event, context) {
        await late.promise
        aborted = context.signal.aborted
      },
    })
    await send(genuine())
    late.resolve()
    await until(() => aborted !== undefined)
    expect(aborted).toBe(true)
  })
})

describe('a handler', () => {
  it.each([
    [
      'throws at once',
      () => {
        throw new Error('no')
      },
    ],
    ['throws no error', () => Promise.reject('no')],
    ['throws nothing', () => Promise.reject()],
    ['throws an error without a prototype', () => Promise.reject(Object.create(null))],
  ])('that %s is answered 500', async (_what, handler) => {
    const { send, outcomes } = await runReceiver({ handler })
    expect(await send(genuine())).toMatchObject({ status: 500 })
    expect(outcomes[0]?.code).toBe('ERR_HANDLER_FAILED')
  })

  it('that is registered after the first callback would have missed it, and is refused', async () => {
    const { receiver, send } = await runReceiver()
    await send(genuine())
    const started = expect.objectContaining({ code: 'ERR_STARTED' })
    expect(() => receiver.on(TYPE, () => {})).toThrow(started)
    expect(() => receiver.onAny(() => {})).toThrow(started)
    expect(() => receiver.onUnhandled(() => {})).toThrow(started)
  })

  it('may still be registered after a request that was refused', async () => {
    const { receiver, send } = await runReceiver()
    await send(genuine({ headers: { Authorization: null } }))
    expect(() => receiver.onAny(() => {})).not.toThrow()
  })

  it.each([
    [
      'no function',
      ['a.b', undefined],
      'ERR_HANDLER_INVALID',
      /^on\("a\.b"\): the handler is undefined: pass a function\.$/,
    ],
    [
      'a generator function',
      ['a.b', function* () {}],
      'ERR_HANDLER_INVALID',
      /^on\("a\.b"\): the handler is a generator function: pass an ordinary function\.$/,
    ],
    [
      'an async generator function',
      ['a.b', async function* () {}],
      'ERR_HANDLER_INVALID',
      /the handler is a generator function: pass an ordinary function/,
    ],
    ['no event type', [undefined, () => {}], 'ERR_HANDLER_INVALID', /^on: the event type is undefined: pass/],
    ['an empty event type', ['', () => {}], 'ERR_HANDLER_INVALID', /^on: the event type is "": pass/],
    ['an unknown option', ['a.b', () => {}, { timeout: 1 }], 'ERR_OPTION_UNKNOWN', /timeout.*timeoutMs/],
    ['no time', ['a.b', () => {}, { timeoutMs: 0 }], 'ERR_OPTION_INVALID', /timeoutMs is 0/],
    ['more time than its lease', ['a.b', () => {}, { timeoutMs: 54_001 }], 'ERR_OPTION_INVALID', /54000/],
  ])('with %s is refused', (_what, parameters, code, message) => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    const register = () => receiver.on(...(parameters as Parameters<typeof receiver.on>))
    expect(register).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
  })

  it('that was refused is not there', async () => {
    const { receiver, send, outcomes } = await runReceiver({ handler: null })
    expect(() => receiver.on(TYPE, undefined as never)).toThrow()
    await send(genuine())
    expect(outcomes[0]?.code).toBe('ERR_HANDLER_MISSING')
  })
})

describe('onOutcome and onError', () => {
  it.each(['onOutcome', 'onError'] as const)('%s takes functions only', (name) => {
    const receiver = createReceiver({ subscriptions: [subscription], logger: false })
    expect(() => receiver[name](undefined as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_HANDLER_INVALID',
        message: `${name}: the listener is undefined: pass a function.`,
      }),
    )
  })

  it('are told what went wrong, with the callback', async () => {
    const failure = new Error('no')
    const { receiver, send } = await runReceiver({ handler: () => Promise.reject(failure) })
    const told: [unknown, Outcome][] = []
    receiver.onError((error, outcome) => told.push([error, outcome]))
    await send(genuine())
    expect(told).toEqual([
      [failure, expect.objectContaining({ code: 'ERR_HANDLER_FAILED', callback: expect.anything() })],
    ])
  })

  it('make an error of an outcome that has none', async () => {
    const { receiver, send } = await runReceiver({ handler: null })
    const errors: unknown[] = []
    receiver.onError((error) => errors.push(error))
    await send(genuine())
    expect(errors).toMatchObject([{ name: 'CountersignError', code: 'ERR_HANDLER_MISSING' }])
  })

  it('do not take a refused callback for an error', async () => {
    const { receiver, send, outcomes } = await runReceiver()
    const told = jest.fn()
    receiver.onError(told)
    await send(genuine({ headers: { Authorization: null } }))
    expect(outcomes).toHaveLength(1)
    expect(outcomes[0]).not.toHaveProperty('callback.payload')
    expect(told).not.toHaveBeenCalled()
  })

  it('come between no callback and its answer', async () => {
    const { receiver, send, log } = await runReceiver()
    receiver.onOutcome(() => {
      throw new Error('mine')
    })
    expect(await send(genuine())).toMatchObject({ status: 200 })
    expect(log.withCode('ERR_LISTENER_FAILED')).toMatchObject([
      { level: 'error', fields: { err: { message: 'mine' } } },
    ])
  })

  it('may be async, and fail as such', async () => {
    const { receiver, send, log } = await runReceiver()
    receiver.onOutcome(async () => {
      throw new Error('mine')
    })
    expect(await send(genuine())).toMatchObject({ status: 200 })
    await until(() => log.withCode('ERR_LISTENER_FAILED').length === 1)
  })

  it('are all told, also behind one that throws', async () => {
    const { receiver, send } = await runReceiver()
    const told = jest.fn()
    receiver
      .onOutcome(() => {
        throw new Error('mine')
      })
      .onOutcome(told)
    await send(genuine())
    expect(told).toHaveBeenCalledTimes(1)
  })
})
