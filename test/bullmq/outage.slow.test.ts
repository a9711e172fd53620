import { forwardTo, handleForwarded } from '../../src/bullmq.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { ENGINES, type QueueEngine, type TestQueue } from '../support/job-queues.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { sharedStore } from '../support/stores.js'
import { until } from '../support/until.js'

const CONCURRENCY = 4

/** Each is repeated under load. `times` is how often. */
const FAULTS: readonly { what: string; times: number; happens(engine: QueueEngine, load: Load): unknown }[] =
  [
    {
      what: 'its server is killed and started again',
      times: 2,
      async happens(engine, { refused }) {
        const before = refused()
        await engine.kill()
        await until(() => refused() > before)
        await engine.restart()
      },
    },
    { what: 'all connections are cut', times: 20, happens: (engine) => engine.cut() },
  ]

describe.each(ENGINES.filter(({ installed }) => installed))('a queue on $name', ({ start }) => {
  let engine: QueueEngine
  beforeAll(async () => {
    engine = await start()
  })
  afterAll(() => engine.close())

  it.each(FAULTS)(
    'has one job of each callback that was answered 200, and its worker handles each, while $what',
    async ({ times, happens }) => {
      const queue = engine.queue()
      const queues = [queue, engine.queue(queue.name)]
      const { worker, handled } = runWorker(engine, queue)
      await Promise.all([...queues, worker].map((each) => each.waitUntilReady()))
      const load = await runLoad(queues)
      for (let nth = 0; nth < times; nth++) {
        await load.goesOn()
        await happens(engine, load)
      }
      await load.goesOn()
      await load.stop()

      await until(() => [...load.answered].every((key) => handled.has(key)))
      const jobs = await queue.getJobs(['waiting', 'active', 'completed', 'failed', 'delayed'])
      const keys = jobs.map(({ data }) => data.idempotencyKey)
      expect(new Set(keys).size).toBe(keys.length)
      expect(keys).toEqual(expect.arrayContaining([...load.answered]))
      expect([...load.statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
      // A job is handled again if the worker could not record its end.
      const repeats = [...handled.values()].reduce((sum, count) => sum + count - 1, 0)
      expect(repeats).toBeLessThanOrEqual(times * CONCURRENCY)
      await worker.close()
    },
    100_000,
  )
})

/** Counts how often each callback is handled, by its key. */
function runWorker(engine: QueueEngine, queue: TestQueue) {
  const handled = new Map<string, number>()
  const handlers = {
    'transfers.book-completed': ({ idempotencyKey }: { idempotencyKey: string }) => {
      handled.set(idempotencyKey, (handled.get(idempotencyKey) ?? 0) + 1)
    },
  }
  const worker = engine.worker(queue, handleForwarded(handlers, { logger: false }), {
    concurrency: CONCURRENCY,
    lockDuration: 1_000,
    stalledInterval: 500,
    maxStalledCount: 100,
    runRetryDelay: 100,
  })
  return { worker, handled }
}

interface Load {
  /** The statuses of all answers. */
  readonly statuses: ReadonlySet<number>
  /** The keys of the callbacks that were answered 200. */
  readonly answered: ReadonlySet<string>
  /** How many answers were no 200. */
  refused(): number
  /** Resolves when 20 more callbacks were answered 200. */
  goesOn(): Promise<void>
  stop(): Promise<void>
}

/** Eight senders, and a receiver for each queue. Half of the senders try each callback until a receiver answers 200. */
async function runLoad(queues: readonly TestQueue[]): Promise<Load> {
  const jobOptions = { attempts: 100 }
  const receivers = await Promise.all(
    queues.map((queue) =>
      runReceiver({ store: sharedStore(), handler: forwardTo(queue, { timeoutMs: 500, jobOptions }) }),
    ),
  )
  const statuses = new Set<number>()
  const answered = new Set<string>()
  let refused = 0
  const over = new AbortController()
  const send = async (callback: SignedCallback, nth: number) => {
    const { status } = await receivers[nth % receivers.length]!.send(callback)
    statuses.add(status)
    if (status === 200) answered.add(callback.headers['X-Idempotency-Key']!)
    else refused++
    return status
  }
  const senders = Array.from({ length: 8 }, async (_, nth) => {
    while (!over.signal.aborted) {
      const callback = genuine()
      const tries = nth % 2 === 0 ? Infinity : 1
      let status = 0
      for (let done = 0; done < tries && status !== 200; done++) status = await send(callback, nth + done)
    }
  })
  return {
    statuses,
    answered,
    refused: () => refused,
    goesOn: async () => {
      const before = answered.size
      await until(() => answered.size >= before + 20)
    },
    stop: async () => {
      over.abort()
      await Promise.all(senders)
    },
  }
}
