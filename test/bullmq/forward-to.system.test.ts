import { once } from 'node:events'
import { createClient } from 'redis'
import { forwardedEvent, forwardTo, type ForwardOptions } from '../../src/bullmq.js'
import type { CallbackEvent } from '../../src/index.js'
import { ENGINES, type QueueEngine, type TestQueue } from '../support/job-queues.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { runInboxReceiver } from '../support/running-inbox-receiver.js'
import { sharedStore } from '../support/stores.js'

const KEY = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'

describe.each(ENGINES.filter(({ installed }) => installed))('a queue on $name', ({ name, start }) => {
  let engine: QueueEngine
  beforeAll(async () => {
    engine = await start()
  })
  afterEach(() => engine.closeQueues())
  afterAll(() => engine.close())

  it('has the job when the callback is answered 200, and gives the worker the event', async () => {
    const queue = engine.queue()
    const { send } = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    const callback = genuine({ payload: { Id: '1', Text: 'Grüße, 世界 \u2028 👋' } })

    expect((await send(callback)).status).toBe(200)
    const [job] = await jobsOf(queue)
    expect(job).toMatchObject({ name: 'transfers.book-completed', data: { countersign: 1 } })

    const event = await handledBy(engine, queue)
    expect(event).toMatchObject({ type: 'transfers.book-completed', payload: { Id: '1' }, byOperator: false })
    expect(event.rawBody.equals(callback.body)).toBe(true)
  })

  it('has one job of a callback that comes to two receivers, 8 times each at once', async () => {
    const queue = engine.queue()
    const receivers = [
      await runReceiver({ store: sharedStore(), handler: forwardTo(queue) }),
      await runReceiver({ store: sharedStore(), handler: forwardTo(engine.queue(queue.name)) }),
    ]
    const callback = genuine()
    const sent = receivers.flatMap(({ send }) => Array.from({ length: 8 }, () => send(callback)))
    // 409 is the answer while the first is being handled.
    for (const { status } of await Promise.all(sent)) expect([200, 409]).toContain(status)
    expect(await jobsOf(queue)).toHaveLength(1)
  })

  it('has one job of 12 adds at once', async () => {
    const queue = engine.queue()
    const callback = genuine()
    const runs = await Promise.all(
      Array.from({ length: 12 }, () => runReceiver({ store: sharedStore(), handler: forwardTo(queue) })),
    )
    const answers = await Promise.all(runs.map(({ send }) => send(callback)))
    expect(answers.map(({ status }) => status)).toEqual(runs.map(() => 200))
    expect(await jobsOf(queue)).toHaveLength(1)
  })

  it.each([
    ['kept', {}, () => Promise.resolve()],
    ['removed by BullMQ', { jobOptions: { removeOnComplete: true } }, () => Promise.resolve()],
    ['cleaned', {}, (queue: TestQueue) => queue.clean(0, 100, 'completed')],
    ['removed by age', { jobOptions: { removeOnComplete: { age: 0 } } }, () => Promise.resolve()],
  ] as [string, ForwardOptions<TestQueue>, (queue: TestQueue) => Promise<unknown>][])(
    'adds no second job after the first was completed and %s',
    async (_, options, clean) => {
      const queue = engine.queue()
      const callback = genuine()
      const first = await runReceiver({ store: sharedStore(), handler: forwardTo(queue, options) })
      await first.send(callback)
      await handledBy(engine, queue)
      await clean(queue)
      const before = await jobsOf(queue)

      // Another copy, which has not seen the callback.
      const second = await runReceiver({ store: sharedStore(), handler: forwardTo(queue, options) })
      expect((await second.send(callback)).status).toBe(200)
      expect(await jobsOf(queue)).toHaveLength(before.length)
    },
  )

  it('remembers a job that was drained', async () => {
    const queue = engine.queue()
    const callback = genuine()
    const first = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    await first.send(callback)
    await queue.drain()
    const second = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    expect((await second.send(callback)).status).toBe(200)
    expect(await jobsOf(queue)).toHaveLength(0)
  })

  it('remembers a job that was removed by hand on Redis, and not on PostgreSQL', async () => {
    const queue = engine.queue()
    const callback = genuine()
    const first = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    await first.send(callback)
    for (const job of await jobsOf(queue)) await job.remove()
    const second = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    expect((await second.send(callback)).status).toBe(200)
    expect(await jobsOf(queue)).toHaveLength(engine.url.startsWith('redis:') ? 0 : 1)
  })

  it('has a job of each queue, subscription and key', async () => {
    const [one, two] = [engine.queue(), engine.queue()]
    const other = { eventTypeName: 'accounts.closed', callbackUrl: 'https://b.example/', secret: 'another' }
    const { receiver, send } = await runReceiver({
      store: sharedStore(),
      subscriptions: [genuineSubscription(), other],
      handler: forwardTo(one),
    })
    receiver.on('accounts.closed', forwardTo(one)).onAny(forwardTo(two))
    for (const callback of [
      genuine({ idempotencyKey: KEY }),
      genuine({ idempotencyKey: KEY, subscription: other }),
      genuine(),
    ])
      expect((await send(callback)).status).toBe(200)
    expect(await jobsOf(one)).toHaveLength(3)
    expect(await jobsOf(two)).toHaveLength(3)
  })

  it('has the job of a callback whose first add BullMQ could not finish', async () => {
    const queue = engine.queue()
    const callback = genuine()
    const wrong = await runReceiver({
      store: sharedStore(),
      handler: forwardTo(queue, { jobOptions: { delay: NaN } }),
    })
    expect((await wrong.send(callback)).status).toBe(503)
    const right = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    expect((await right.send(callback)).status).toBe(200)
    expect(await jobsOf(queue)).toHaveLength(1)
  })

  if (name !== 'PostgreSQL')
    it('whose memory is full is answered 503, and has one job of the repeat', async () => {
      const queue = engine.queue()
      const { send, log } = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
      const callback = genuine()
      const client = await createClient({ url: engine.url }).connect()
      await client.configSet('maxmemory', '1')
      expect((await send(callback)).status).toBe(503)
      await client.configSet('maxmemory', '0')
      client.destroy()
      expect(log.withCode('ERR_RETRY_LATER')[0]!.fields['err']).toMatchObject({
        message: expect.stringContaining('OOM'),
      })
      expect((await send(callback)).status).toBe(200)
      expect(await jobsOf(queue)).toHaveLength(1)
    })

  it('adds a job again when an operator replays the entry', async () => {
    const queue = engine.queue()
    const { send, entries, becomes, inbox } = await runInboxReceiver({ handler: forwardTo(queue) })
    await send(genuine())
    const [entry] = await entries()
    await becomes(entry!.id, 'handled')
    expect(await inbox.act(entry!.id, 'retry', 'a test', { again: true })).toMatchObject({ done: true })
    await becomes(entry!.id, 'handled')
    expect(await jobsOf(queue)).toHaveLength(2)
  })

  // Last, as the others need the server.
  it('out of reach is answered 503 within its time, and the repeat adds one job', async () => {
    const queue = engine.queue()
    await queue.waitUntilReady()
    // A handler whose time is up is answered 500.
    const handlerTimeoutMs = 3_000
    const { send, log } = await runReceiver({
      store: sharedStore(),
      handler: forwardTo(queue, { timeoutMs: 300 }),
      handlerTimeoutMs,
    })
    const callback = genuine()
    await engine.kill()
    const response = await send(callback)
    expect(response.status).toBe(503)
    expect(response.headers['retry-after']).toBeDefined()
    expect(log.withCode('ERR_RETRY_LATER')).toHaveLength(1)

    await engine.restart()
    await answered200(() => send(callback))
    await answered200(() => send(callback))
    expect(await jobsOf(queue)).toHaveLength(1)
  })

  it('that was created while the server was out of reach is used on Redis, and on PostgreSQL after a restart', async () => {
    const { name } = engine.queue()
    await engine.kill()
    const forward = forwardTo(engine.queue(name), { timeoutMs: 300 })
    const { send, log } = await runReceiver({ store: sharedStore(), handler: forward })
    const callback = genuine()
    expect((await send(callback)).status).toBe(503)
    await engine.restart()
    if (engine.url.startsWith('redis:')) return answered200(() => send(callback))

    const queue = engine.queue(name)
    await queue.waitUntilReady()
    expect((await send(callback)).status).toBe(503)
    const errors = log.withCode('ERR_RETRY_LATER').map(({ fields }) => (fields['err'] as Error).message)
    expect(errors).toHaveLength(2)
    for (const error of errors) expect(error).toMatch(/BullMQ does not try again.*restart the process$/)
    const restarted = await runReceiver({ store: sharedStore(), handler: forwardTo(queue) })
    expect((await restarted.send(callback)).status).toBe(200)
  })

  it('out of reach leaves the entry of an inbox to be retried', async () => {
    const queue = engine.queue()
    await queue.waitUntilReady()
    const { send, entries, becomes, receiver } = await runInboxReceiver({
      handler: forwardTo(queue, { timeoutMs: 300 }),
      retryDelayMs: 50,
    })
    const failed = new Promise((resolve) => receiver.events.on('failed', resolve))
    await engine.kill()
    expect((await send(genuine())).status).toBe(200)
    expect(await failed).toMatchObject({ code: 'ERR_RETRY_LATER' })
    await engine.restart()
    const [entry] = await entries()
    await becomes(entry!.id, 'handled')
    expect(await jobsOf(queue)).toHaveLength(1)
  })
})

async function jobsOf(queue: TestQueue) {
  return queue.getJobs(['waiting', 'active', 'completed', 'failed', 'delayed', 'prioritized'])
}

/** Runs one worker until it has handled a job, and resolves to the event. */
async function handledBy(engine: QueueEngine, queue: TestQueue): Promise<CallbackEvent> {
  const events: CallbackEvent[] = []
  const worker = engine.worker(queue, async (job) => {
    events.push(forwardedEvent(job))
  })
  await once(worker, 'completed')
  await worker.close()
  return events[0]!
}

/** After a restart the client needs some time to connect again. */
async function answered200(send: () => Promise<{ status: number }>): Promise<void> {
  while ((await send()).status !== 200);
}

function genuineSubscription() {
  return {
    eventTypeName: 'transfers.book-completed',
    callbackUrl: 'https://partner.example.com/hooks/transfers',
    secret: 's3cret~Text-with_dots.and-dashes-0123456',
  }
}
