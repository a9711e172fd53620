import { join } from 'node:path'
import { forwardTo } from '../../src/bullmq.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { startProgram, untilPrinted, type StartedProgram } from '../support/built-program.js'
import { buildInboxProgram } from '../support/inbox-program.js'
import { ENGINES, type QueueEngine } from '../support/job-queues.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { sharedStore } from '../support/stores.js'
import { temporaryDirectory } from '../support/sqlite-file.js'
import { until } from '../support/until.js'

/** A receiver that hands over to a queue, and dies after the add where the last argument says so. */
const PROGRAM = `
  const [, , , where, name, url, isKilled] = process.argv
  const load = process.getBuiltinModule('node:module').createRequire(process.argv[1])
  const { createPostgresBackend, Queue } = load('bullmq')
  const { Redis } = load('ioredis')
  const { forwardTo } = await import('../../src/bullmq.js')
  const { sharedStore } = await import('./stores.js')

  const isRedis = url.startsWith('redis:')
  const connection = isRedis ? new Redis(url, { maxRetriesPerRequest: null }) : { connectionString: url }
  const queue = new Queue(name, { connection }, isRedis ? undefined : createPostgresBackend)
  const forward = forwardTo(queue)
  const receiver = createReceiver({
    subscriptions: [subscription],
    // The lease of the process that is killed is waited for. The other one may take its time for the first connection.
    ...(isKilled === 'killed' && { leaseMs: 500, handlerTimeoutMs: 400 }),
    ...(where === 'inbox' ? { inbox: new SqliteInbox({ file }), pollMs: 20 } : { store: sharedStore() }),
  })
  receiver.on(subscription.eventTypeName, async (event, context) => {
    await forward(event, context)
    if (isKilled === 'killed') process.kill(process.pid, 'SIGKILL')
    print('handed over')
  })
  await receiver.start()
  const server = http.createServer(receiver.requestListener()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  print(server.address().port)
  await once(process.stdin.resume(), 'end')
  process.exit(0)
`

describe.each(ENGINES.filter(({ installed }) => installed))('on $name', ({ start }) => {
  let engine: QueueEngine
  beforeAll(async () => {
    engine = await start()
  })
  afterAll(() => engine.close())

  it.each(['inbox', 'no inbox'])(
    'a receiver with %s that is killed between the add and its end has added one job',
    async (where) => {
      const directory = temporaryDirectory()
      const program = buildInboxProgram(directory, PROGRAM)
      const queue = engine.queue()
      await queue.waitUntilReady()
      const run = async (how: string) => {
        const args = [program, join(directory, 'callbacks.db'), where, queue.name, engine.url, how]
        const started = startProgram(process.execPath, args)
        await untilPrinted([started], () => started.lines.length > 0)
        return started
      }
      const callback = genuine().toHttp()

      const killed = await run('killed')
      const receiver = { hasEnded: false }
      const ended = killed.ended.then(() => (receiver.hasEnded = true))
      // On a busy machine the add may take longer than the handler may.
      while (!receiver.hasEnded) await sendTo(killed, callback).catch(() => {})
      await ended
      expect(await queue.getJobCountByTypes('waiting')).toBe(1)

      const next = await run('lives')
      // With an inbox the worker takes the entry up by itself; without one only the sender can repeat it.
      if (where === 'no inbox') expect(await sendTo(next, callback)).toMatchObject({ status: 200 })
      await untilPrinted([next], () => next.lines.includes('handed over'))
      expect(await queue.getJobCountByTypes('waiting')).toBe(1)
      next.child.stdin.end()
      await next.ended
    },
  )

  it('a server that is killed under load has one job of each callback, once all were answered 200', async () => {
    const queue = engine.queue()
    await queue.waitUntilReady()
    const { send } = await runReceiver({
      store: sharedStore(),
      handler: forwardTo(queue, { timeoutMs: 300 }),
    })
    const callbacks: SignedCallback[] = []
    const statuses = new Set<number>()
    const server = { isKilled: false }
    const senders = Array.from({ length: 8 }, async () => {
      // On a busy machine an add may take too long before the server is killed.
      for (let status = 0; !server.isKilled || status === 200;) {
        const callback = genuine()
        callbacks.push(callback)
        ;({ status } = await send(callback))
        statuses.add(status)
      }
    })
    await until(() => callbacks.length >= 40)
    server.isKilled = true
    await engine.kill()
    await Promise.all(senders)
    expect(statuses).toEqual(new Set([200, 503]))

    await engine.restart()
    for (const callback of callbacks) while ((await send(callback)).status !== 200);
    const jobs = await queue.getJobs(['waiting'])
    const keys = jobs.map(({ data }) => data.idempotencyKey)
    expect(new Set(keys)).toEqual(new Set(callbacks.map(({ headers }) => headers['X-Idempotency-Key'])))
    expect(keys).toHaveLength(callbacks.length)
  })
})

async function sendTo({ lines }: StartedProgram, request: Uint8Array) {
  return sendRawRequest(request, { port: Number(lines[0]) })
}
