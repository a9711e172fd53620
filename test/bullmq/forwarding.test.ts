import { setImmediate as nextTick } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { forwardTo, type JobQueue } from '../../src/bullmq.js'
import type { CallbackEvent, HandlerContext } from '../../src/index.js'
import { silentLogger } from '../../src/logging/logger.js'
import { deferred } from '../support/deferred.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { sharedStore } from '../support/stores.js'
import { freePort } from '../support/server-program.js'

const event: CallbackEvent = {
  type: 'a.b',
  payload: { Id: '1' },
  idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  signedAt: new Date(1_000),
  receivedAt: new Date(2_000),
  rawBody: Buffer.from('{"Id":"1"}'),
  subscription: { id: 'a', eventTypeName: 'a.b', callbackUrl: 'https://partner.example.com/' },
  secretFingerprint: '0123456789ab',
  byOperator: false,
}

function context(signal = new AbortController().signal) {
  const debug = jest.fn()
  const logger = { ...silentLogger, debug }
  return { signal, attempt: 1, entryId: '1', logger, debug } satisfies HandlerContext & { debug: unknown }
}

/** A queue whose adds end as the test wants. */
function queueWith(add: (options: { jobId: string }) => Promise<{ id?: string }>) {
  const added = jest.fn((_name: string, _data: object, options: object = {}) =>
    add(options as { jobId: string }),
  )
  return { queue: { name: 'q', add: added } satisfies JobQueue, added }
}

const works = ({ jobId }: { jobId: string }) => Promise.resolve({ id: jobId })
const LATER = { code: 'ERR_RETRY_LATER' }

describe('a job', () => {
  it('has the type as its name, an id of its own, and is remembered for 7 days', async () => {
    const { queue, added } = queueWith(works)
    await forwardTo(queue)(event, context())
    const [name, , options] = added.mock.calls[0]!
    expect(name).toBe('a.b')
    expect(options).toEqual({
      jobId: expect.stringMatching(
        /^f81d4fae-7dec-11d0-a765-00a0c91e6bf6-[0-9a-f]{16}-[0-9a-f]{32}-[0-9a-f]{8}$/,
      ),
      deduplication: { id: expect.any(String), ttl: 604_800_000 },
    })
  })

  it.each([
    ['a text', 'callback'],
    ['a function', ({ idempotencyKey }: { idempotencyKey: string }) => idempotencyKey.slice(0, 8)],
  ])('takes its name from %s', async (_, name) => {
    const { queue, added } = queueWith(works)
    await forwardTo(queue, { name })(event, context())
    expect(['callback', 'f81d4fae']).toContain(added.mock.calls[0]![0])
  })

  it("takes BullMQ's options", async () => {
    const { queue, added } = queueWith(works)
    await forwardTo(queue, { jobOptions: { attempts: 5 }, retentionMs: 1_000 })(event, context())
    expect(added.mock.calls[0]![2]).toMatchObject({ attempts: 5, deduplication: { ttl: 1_000 } })
  })

  it.each([
    ['the queue has the callback', works],
    ['the queue had the callback already', () => Promise.resolve({ id: 'of an earlier add' })],
  ])('that was added or recognised is logged: %s', async (message, add) => {
    const given = context()
    await forwardTo(queueWith(add).queue)(event, given)
    expect(given.debug).toHaveBeenCalledWith({ queue: 'q' }, message)
  })
})

describe('a queue that does not answer', () => {
  it('is given up after timeoutMs, with an error that names it', async () => {
    const { queue } = queueWith(() => new Promise(() => {}))
    const forwarded = forwardTo(queue, { timeoutMs: 5 })(event, context())
    await expect(forwarded).rejects.toMatchObject({ ...LATER, message: expect.stringMatching(/"q".* 5 ms$/) })
  })

  it('is given up when the handler is aborted', async () => {
    const controller = new AbortController()
    const { queue } = queueWith(() => new Promise(() => {}))
    const forwarded = forwardTo(queue)(event, context(controller.signal))
    controller.abort(new Error('the receiver is stopping'))
    await expect(forwarded).rejects.toMatchObject({
      ...LATER,
      cause: { message: 'the receiver is stopping' },
    })
  })

  it('gets no job of a handler that was aborted before', async () => {
    const { queue, added } = queueWith(works)
    const forwarded = forwardTo(queue)(event, context(AbortSignal.abort(new Error('too late'))))
    await expect(forwarded).rejects.toMatchObject(LATER)
    expect(added).not.toHaveBeenCalled()
  })

  it('holds no more than a bounded number of jobs back', async () => {
    const answer = deferred()
    const { queue, added } = queueWith(({ jobId }) => answer.promise.then(() => ({ id: jobId })))
    const forward = forwardTo(queue, { timeoutMs: 1 })
    const ends = Array.from({ length: 100 }, () => forward(event, context()))
    for (const { reason } of (await Promise.allSettled(ends)) as PromiseRejectedResult[])
      expect(reason).toMatchObject(LATER)

    // One more a second finds out whether the queue answers again, and the next has to wait for that.
    const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
    await expect(forward(event, context())).rejects.toMatchObject(LATER)
    await expect(forward(event, context())).rejects.toMatchObject({ ...LATER, cause: undefined })
    expect(added).toHaveBeenCalledTimes(101)
    now.mockRestore()

    answer.resolve()
    await nextTick()
    await forward(event, context())
  })
})

it('an add that BullMQ refuses is retried later, with the reason', async () => {
  const { queue } = queueWith(() => Promise.reject(new Error('OOM command not allowed')))
  const forwarded = forwardTo(queue)(event, context())
  await expect(forwarded).rejects.toMatchObject({ ...LATER, message: expect.stringMatching(/: OOM command/) })
})

it.each([
  ['a Set', new Set()],
  ['a queue that returns nothing', queueWith(() => Promise.resolve(undefined as never)).queue],
  ['a queue that returns a job without an id', queueWith(() => Promise.resolve({})).queue],
])('an add of %s proves no job, and is retried later', async (_, queue) => {
  await expect(forwardTo(queue as JobQueue)(event, context())).rejects.toMatchObject(LATER)
})

it.each([
  ['a promise', async () => 'name'],
  ['nothing', () => undefined],
  ['an empty text', () => ''],
])('a name function that returns %s is refused before the add', async (_, name) => {
  const { queue, added } = queueWith(works)
  const forwarded = forwardTo(queue, { name: name as () => string })(event, context())
  await expect(forwarded).rejects.toMatchObject({ code: 'ERR_OPTION_INVALID', option: 'name' })
  expect(added).not.toHaveBeenCalled()
})

it.each([
  ['queue', undefined, {}],
  ['queue', { name: 'q' }, {}],
  ['timeoutMs', queueWith(works).queue, { timeoutMs: 0 }],
  ['retentionMs', queueWith(works).queue, { retentionMs: -1 }],
  ['name', queueWith(works).queue, { name: '' }],
  ['jobOptions', queueWith(works).queue, { jobOptions: { jobId: '1' } }],
  ['jobOptions', queueWith(works).queue, { jobOptions: { deduplication: { id: '1' } } }],
  ['jobOptions', queueWith(works).queue, { jobOptions: 5 }],
  ['jobOptions', queueWith(works).queue, { jobOptions: null as never }],
])('refuses a wrong %s (%#)', (option, queue, options) => {
  expect(() => forwardTo(queue as JobQueue, options)).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION_INVALID', option, owner: 'forwardTo' }),
  )
})

it('refuses an unknown option', () => {
  const { queue } = queueWith(works)
  const unknown = { rememberFor: 1 } as object
  expect(() => forwardTo(queue, unknown)).toThrow(expect.objectContaining({ code: 'ERR_OPTION_UNKNOWN' }))
})

describeWithRedis('a server that is not there when the receiver starts', () => {
  it('is answered 503 until it is, without a restart', async () => {
    const port = await freePort()
    const connection = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 20 })
    connection.on('error', () => {})
    const queue = new Queue('q', { connection })
    queue.on('error', () => {})
    const { send } = await runReceiver({
      store: sharedStore(),
      handler: forwardTo(queue, { timeoutMs: 200 }),
    })
    const callback = genuine()
    expect((await send(callback)).status).toBe(503)

    const server = await RedisServer.start(undefined, port)
    while ((await send(callback)).status !== 200);
    expect(await queue.getJobCountByTypes('waiting')).toBe(1)
    await queue.close()
    connection.disconnect()
    await server.stop()
  })
})
