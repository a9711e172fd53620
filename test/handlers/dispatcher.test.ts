import { SYSTEM } from '../../src/base/environment.js'
import { getEventListeners } from 'node:events'
import type { CallbackEvent } from '../../src/callback/callback.js'
import { Dispatcher } from '../../src/handlers/dispatcher.js'
import { Handlers, type Handler, type HandlerContext } from '../../src/handlers/handlers.js'
import { RetryLaterError } from '../../src/handlers/retry-later.js'
import type { StandardSchema } from '../../src/handlers/standard-schema.js'
import { silentLogger } from '../../src/logging/logger.js'
import { deferred } from '../support/deferred.js'

const event: CallbackEvent = {
  type: 'a.b',
  payload: { Id: '1' },
  idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  signedAt: new Date(0),
  receivedAt: new Date(0),
  rawBody: Buffer.from('{"Id":"1"}'),
  subscription: { id: 'a', eventTypeName: 'a.b', callbackUrl: 'https://partner.example.com/' },
  secretFingerprint: '0123456789ab',
  byOperator: false,
}

function dispatcherOf(list: readonly Handler[], schemas = new Map<string, StandardSchema>()) {
  const handlers = new Handlers(50, 1_000)
  for (const handler of list) handlers.on('a.b', handler)
  return new Dispatcher({ handlers, schemas, schemaTimeoutMs: 50, logger: silentLogger, environment: SYSTEM })
}

function dispatch(stop: AbortSignal, ...list: Handler[]) {
  return dispatcherOf(list).dispatch(event, 1, { signal: stop })
}

const { signal: never } = new AbortController()

describe('dispatch', () => {
  it('resolves to undefined when all went well', async () => {
    const { result, settled } = dispatch(
      never,
      () => 1,
      async () => 2,
    )
    expect(await result).toBeUndefined()
    await settled()
  })

  it('runs every handler although one throws at once', async () => {
    const other = jest.fn()
    const failing = () => {
      throw new Error('no')
    }
    const { result } = dispatch(never, failing, other)
    expect(await result).toMatchObject({ code: 'ERR_HANDLER_FAILED', error: { message: 'no' } })
    expect(other).toHaveBeenCalledWith(event, expect.objectContaining({ attempt: 1, entryId: undefined }))
  })

  it('tells the longest delay that a handler asks for, also when another one failed first', async () => {
    const { result } = dispatch(
      never,
      () => Promise.reject(new Error('no')),
      () => Promise.reject(new RetryLaterError('away', { retryAfterMs: 60_000 })),
      () => Promise.reject(new RetryLaterError('away', { retryAfterMs: 120_000 })),
    )
    expect(await result).toMatchObject({ code: 'ERR_HANDLER_FAILED', retryAfterMs: 120_000 })
  })

  it('tells a result when time is up, and is settled only when the handler has returned', async () => {
    const finish = deferred()
    const { result, settled } = dispatch(never, () => finish.promise)
    let returned = false
    const settling = settled().then(() => (returned = true))
    expect(await result).toMatchObject({ code: 'ERR_HANDLER_TIMEOUT' })
    expect(returned).toBe(false)
    finish.resolve()
    await settling
  })

  it('is settled, and leaves no rejection unhandled, when a handler fails after its time', async () => {
    const finish = deferred()
    const { result, settled } = dispatch(never, () => finish.promise)
    await result
    finish.reject(new Error('late'))
    await settled()
  })

  it('passes the stop on to each handler that asked for its signal', async () => {
    const stop = new AbortController()
    const untilAborted: Handler = (_event, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))
    const { result } = dispatch(stop.signal, untilAborted, untilAborted)
    await Promise.resolve()
    stop.abort(new Error('stopping'))
    expect(await result).toBeUndefined()
  })

  it('starts no handler that was aborted while the payload was checked', async () => {
    const handler = jest.fn()
    const stop = new AbortController()
    const reason = new Error('stopping')
    const validate = async (value: unknown) => {
      stop.abort(reason)
      return { value }
    }
    const schema: StandardSchema = { '~standard': { version: 1, vendor: 'test', validate } }
    const { result, settled } = dispatcherOf([handler], new Map([['a.b', schema]])).dispatch(event, 1, stop)
    expect(await result).toEqual({ code: 'ERR_CLAIM_LOST', error: reason })
    await settled()
    expect(handler).not.toHaveBeenCalled()
  })

  it('starts no handler that was aborted while its transaction began', async () => {
    const handler = jest.fn()
    const reason = new Error('the lease was lost')
    const stop = { signal: AbortSignal.abort(reason) }
    const { result } = dispatcherOf([handler]).dispatch(event, 1, stop, { transaction: { query: jest.fn() } })
    expect(await result).toEqual({ code: 'ERR_CLAIM_LOST', error: reason })
    expect(handler).not.toHaveBeenCalled()
  })

  it('leaves no listener behind on the signal that all callbacks share', async () => {
    const stop = new AbortController()
    const asks: Handler = (_event, context) => void context.signal
    const fails: Handler = (_event, context) => {
      void context.signal
      throw new Error('no')
    }
    await dispatch(stop.signal, asks, fails).result
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('leaves no listener behind for a handler that never returns', async () => {
    const stop = new AbortController()
    const { result } = dispatch(stop.signal, (_event, { signal }) => {
      void signal
      return new Promise(() => {})
    })
    expect(await result).toMatchObject({ code: 'ERR_HANDLER_TIMEOUT' })
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('leaves no listener behind for a handler that first asks for its signal after it has ended', async () => {
    const stop = new AbortController()
    let late!: HandlerContext
    await dispatch(stop.signal, async (_event, context) => void (late = context)).result
    expect(late.signal.aborted).toBe(false)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('gives one signal to a handler however often it asks', async () => {
    const same: boolean[] = []
    await dispatch(never, (_event, context) => same.push(context.signal === context.signal)).result
    expect(same).toEqual([true])
  })

  it('gives handlers signals of their own', async () => {
    const signals: AbortSignal[] = []
    const keeps: Handler = (_event, { signal }) => signals.push(signal)
    await dispatch(never, keeps, keeps).result
    expect(signals[0]).not.toBe(signals[1])
  })
})
