import { randomUUID } from 'node:crypto'
import { createClient } from 'redis'
import { forwardTo } from '../../src/bullmq.js'
import { createReceiver, MemoryIdempotencyStore } from '../../src/index.js'
import { RedisIdempotencyStore } from '../../src/redis.js'
import { ENGINES, type QueueEngine, type TestQueue } from '../support/job-queues.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { genuine, runReceiver, subscription } from '../support/running-receiver.js'
import { sharedStore } from '../support/stores.js'

const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
const first = () => genuine({ idempotencyKey: KEY, payload: { Id: '1' } })
const otherBody = () => genuine({ idempotencyKey: KEY, payload: { Id: '2' } })

describe.each(ENGINES.filter(({ installed }) => installed))('with a queue on $name', ({ name, start }) => {
  let engine: QueueEngine
  beforeAll(async () => {
    engine = await start()
  })
  afterEach(() => engine.closeQueues())
  afterAll(() => engine.close())

  it.each([
    ['is kept', () => {}, 1],
    ['was removed', (queue: TestQueue) => queue.drain(), 0],
  ])(
    'a known key with another body is 409 where only the queue knows it and its job %s',
    async (_, change, left) => {
      const queue = engine.queue()
      const before = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
      expect((await before.send(first())).status).toBe(200)
      await change(queue)

      const after = await runReceiver({ store: sharedStore(), handler: forwardTo(engine.queue(queue.name)) })
      expect((await after.send(otherBody())).status).toBe(409)
      expect(after.log.withCode('ERR_IDEMPOTENCY_KEY_REUSED')).toHaveLength(1)
      expect((await after.send(first())).status).toBe(200)
      expect(await queue.getJobCountByTypes('waiting')).toBe(left)
    },
  )

  it('two bodies of a key that reach two copies at once are one job, one 200 and one 409', async () => {
    const queue = engine.queue()
    const copies = [
      await runReceiver({ store: sharedStore(), handler: forwardTo(queue) }),
      await runReceiver({ store: sharedStore(), handler: forwardTo(engine.queue(queue.name)) }),
    ]
    const answers = await Promise.all([copies[0]!.send(first()), copies[1]!.send(otherBody())])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
    expect(await queue.getJobCountByTypes('waiting')).toBe(1)
  })

  it('an entry of an inbox whose key the queue has with another body is a dead letter, with the reason', async () => {
    const queue = engine.queue()
    const before = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    await before.send(first())
    const { send, becomes } = await runInboxReceiver({ handler: forwardTo(queue) })
    expect((await send(otherBody())).status).toBe(200)
    const entry = await becomes('1', 'dead')
    expect(entry).toMatchObject({ attempts: 1, reason: expect.stringContaining('another body') })
    expect(await queue.getJobCountByTypes('waiting')).toBe(1)
  })

  if (name !== 'PostgreSQL')
    it('a captured callback under a new key is 409 after a restart, and at two copies at once', async () => {
      const queue = engine.queue()
      const client = await createClient({ url: engine.url }).connect()
      const copy = () =>
        runReceiver({
          store: new RedisIdempotencyStore({ client, logger: false }),
          handler: forwardTo(queue),
        })
      const captured = first()
      const replayed = () => ({ ...captured.headers, 'X-Idempotency-Key': randomUUID() })
      expect((await (await copy()).send(captured)).status).toBe(200)
      const copies = [await copy(), await copy()]
      const answers = await Promise.all(
        copies.map(({ send }) => send(genuine({ payload: { Id: '1' }, headers: replayed() }))),
      )
      expect(answers.map(({ status }) => status)).toEqual([409, 409])
      expect(await queue.getJobCountByTypes('waiting')).toBe(1)

      const fresh = genuine()
      const both = await Promise.all(
        copies.map(({ send }) =>
          send(
            genuine({ body: fresh.body, headers: { ...fresh.headers, 'X-Idempotency-Key': randomUUID() } }),
          ),
        ),
      )
      expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]))
      expect(await queue.getJobCountByTypes('waiting')).toBe(2)
      client.destroy()
    })
})

describe('a receiver that remembers callbacks only in its memory', () => {
  const queue = { name: 'q', add: jest.fn() }

  it.each([
    ['by default', {}],
    ['with a MemoryIdempotencyStore', { store: new MemoryIdempotencyStore() }],
  ])('refuses the hand-off at its registration: %s', (_, options) => {
    const receiver = createReceiver({ subscriptions: [subscription], ...options })
    const refusal = expect.objectContaining({
      code: 'ERR_HANDLER_INVALID',
      message: expect.stringMatching(/^onAny: .*RedisIdempotencyStore.*inbox\.$/),
    })
    expect(() => receiver.onAny(forwardTo(queue))).toThrow(refusal)
    expect(() => receiver.on(subscription.eventTypeName, forwardTo(queue))).toThrow(/^on\("/)
    expect(() => receiver.onUnhandled(forwardTo(queue))).toThrow(/^onUnhandled: /)
  })

  it('answers 500, with the reason in the log, if a handler of the application calls the hand-off', async () => {
    const forward = forwardTo(queue)
    const { send, log } = await runReceiver({ handler: async (event, context) => forward(event, context) })
    expect((await send(genuine())).status).toBe(500)
    expect(log.withCode('ERR_HANDLER_FAILED')[0]!.fields['err']).toMatchObject({
      message: expect.stringContaining('RedisIdempotencyStore'),
    })
    expect(queue.add).not.toHaveBeenCalled()
  })
})
