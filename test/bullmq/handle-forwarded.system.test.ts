import { once } from 'node:events'
import { UnrecoverableError } from 'bullmq'
import {
  forwardTo,
  handleForwarded,
  type ForwardedHandlers,
  type HandleForwardedOptions,
} from '../../src/bullmq.js'
import { toForwarded } from '../../src/bullmq/forwarded-callback.js'
import {
  DoNotRetryError,
  type CallbackEvent,
  type CallbackPayload,
  type HandlerContext,
  type StandardSchema,
} from '../../src/index.js'
import { ENGINES, type QueueEngine, type TestQueue } from '../support/job-queues.js'
import { deferred } from '../support/deferred.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { sharedStore } from '../support/stores.js'
import { until } from '../support/until.js'

const TYPE = subscription.eventTypeName
const event: CallbackEvent = {
  type: TYPE,
  payload: { Id: '1' },
  idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  signedAt: new Date(1_000),
  receivedAt: new Date(2_000),
  rawBody: Buffer.from('{"Id":"1"}'),
  subscription: { id: 'tenant-1', eventTypeName: TYPE, callbackUrl: subscription.callbackUrl },
  secretFingerprint: '0123456789ab',
  byOperator: false,
}
const job = { data: toForwarded(event), attemptsMade: 0 }
const UNFIT: StandardSchema<CallbackPayload> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => ({ issues: [{ message: 'no', path: ['Id'] }] }),
  },
}

describe.each(ENGINES.filter(({ installed }) => installed))('a worker on $name', ({ start }) => {
  let engine: QueueEngine
  beforeAll(async () => {
    engine = await start()
  })
  afterAll(() => engine.close())

  async function forwarded(handlers: ForwardedHandlers, attempts = 3) {
    const queue: TestQueue = engine.queue()
    const { send } = await runReceiver({
      store: sharedStore(),
      handler: forwardTo(queue, { jobOptions: { attempts } }),
    })
    expect((await send(genuine())).status).toBe(200)
    const worker = engine.worker(queue, handleForwarded(handlers, { logger: false }))
    return { queue, worker }
  }

  it('runs the handler of the type, and again after a failure, with the number of the attempt', async () => {
    const attempts: number[] = []
    const { queue, worker } = await forwarded({
      [TYPE]: (_event, { attempt }) => {
        attempts.push(attempt)
        if (attempt < 3) throw new Error('not yet')
      },
    })
    await once(worker, 'completed')
    await worker.close()
    expect(attempts).toEqual([1, 2, 3])
    expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 1, failed: 0 })
  })

  it.each([
    [
      'DoNotRetryError',
      { [TYPE]: () => Promise.reject(new DoNotRetryError('no such account')) },
      'no such account',
    ],
    [
      "BullMQ's UnrecoverableError",
      { [TYPE]: () => Promise.reject(new UnrecoverableError('closed')) },
      'closed',
    ],
  ])('does not try again after %s', async (_, handlers, reason) => {
    const { queue, worker } = await forwarded(handlers)
    await once(worker, 'failed')
    await worker.close()
    const [failed] = await queue.getFailed()
    expect(failed).toMatchObject({ attemptsMade: 1, failedReason: reason })
  })

  it('does not try a job again that is not of forwardTo', async () => {
    const queue = engine.queue()
    await queue.add('mail', { to: 'a@b.example' } as never, { attempts: 3 })
    const worker = engine.worker(queue, handleForwarded({}, { logger: false }))
    await once(worker, 'failed')
    await worker.close()
    const [failed] = await queue.getFailed()
    expect(failed).toMatchObject({
      attemptsMade: 1,
      failedReason: expect.stringContaining('forwardTo did not add it'),
    })
  })
})

const handle = (handlers: ForwardedHandlers, options: HandleForwardedOptions = {}) =>
  handleForwarded(handlers, { logger: false, ...options })

describe('handleForwarded', () => {
  it('gives the handler the event and a context like that of a receiver', async () => {
    const handler = jest.fn((_event: CallbackEvent, { signal, logger }: HandlerContext) => {
      expect(signal.aborted).toBe(false)
      logger.info({}, 'handled')
    })
    await handle({ [TYPE]: handler })({ ...job, attemptsMade: 4 }, 'token', new AbortController().signal)
    expect(handler).toHaveBeenCalledWith(event, expect.objectContaining({ attempt: 5 }))
  })

  it('asks for a handler where the type has none, and lets the job be tried again', async () => {
    const refused = handle({ 'a.b': () => {} })(job)
    await expect(refused).rejects.toMatchObject({ code: 'ERR_HANDLER_MISSING', name: 'CountersignError' })
  })

  it('fails for good where the payload does not fit its schema', async () => {
    const refused = handle({ [TYPE]: () => {} }, { schemas: { [TYPE]: UNFIT } })(job)
    await expect(refused).rejects.toMatchObject({ name: 'UnrecoverableError', message: /schema at: Id$/ })
  })

  it('aborts a handler whose time is up, and keeps the job until it has returned', async () => {
    const finish = deferred()
    let aborted = false
    let ended = false
    const handler = async (_event: CallbackEvent, { signal }: HandlerContext) => {
      signal.addEventListener('abort', () => (aborted = true))
      await finish.promise
    }
    const result = handle({ [TYPE]: handler }, { handlerTimeoutMs: 10 })(job)
    const settled = result.catch((error: Error) => error).finally(() => (ended = true))
    await until(() => aborted)
    expect(ended).toBe(false)
    finish.resolve()
    expect(await settled).toMatchObject({ message: 'the handler took longer than 10 ms' })
  })

  it('aborts the handler when BullMQ aborts the job', async () => {
    const controller = new AbortController()
    const handler = (_event: CallbackEvent, { signal }: HandlerContext) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        controller.abort(new Error('the lock was lost'))
      })
    await expect(handle({ [TYPE]: handler })(job, 'token', controller.signal)).rejects.toThrow(
      'the lock was lost',
    )
  })

  it('takes three parameters, as BullMQ makes a signal only for processors that do', () => {
    expect(handle({})).toHaveLength(3)
  })

  it('makes an Error of what is thrown and is none', async () => {
    await expect(handle({ [TYPE]: () => Promise.reject(undefined) })(job)).rejects.toThrow(Error)
  })

  it.each<[string, object, object]>([
    ['ERR_HANDLER_INVALID', { 'a.b': 1 }, {}],
    ['ERR_OPTION_INVALID', null as unknown as object, {}],
    ['ERR_OPTION_INVALID', [], {}],
    ['ERR_OPTION_INVALID', {}, { handlerTimeoutMs: 0 }],
    ['ERR_OPTION_UNKNOWN', {}, { leaseMs: 1 }],
  ])('refuses what cannot be right: %s', (code, handlers, options) => {
    expect(() => handle(handlers, options)).toThrow(expect.objectContaining({ code }))
  })
})
