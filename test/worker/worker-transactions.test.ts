import {
  createWorker,
  DoNotRetryError,
  RetryLaterError,
  type FailedEvent,
  type DeadEvent,
  type WorkerOptions,
} from '../../src/index.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { pausing } from '../support/pausing.js'
import { subscription } from '../support/subscription.js'
import { becomes } from '../support/running-worker.js'
import { TransactionalMemoryInbox } from '../support/transactional-memory-inbox.js'
import { until } from '../support/until.js'

const TYPE = subscription.eventTypeName

const stops: (() => Promise<void>)[] = []
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())))

async function setUp(options: Partial<WorkerOptions<never>> = {}) {
  const clock = fakeClock()
  const inbox = new TransactionalMemoryInbox({ clock })
  const log = collectedLog()
  const worker = createWorker({ logger: log, pollMs: 5, stopTimeoutMs: 50, clock, ...options, inbox })
  stops.push(() => worker.stop())
  const failures: (FailedEvent | DeadEvent)[] = []
  worker.events.on('failed', (event) => failures.push(event))
  worker.events.on('dead', (event) => failures.push(event))
  const { id } = await inbox.add(arrival())
  return { worker, inbox, clock, log, failures, id, entry: async () => (await inbox.show(id))! }
}

const TRANSACTIONAL = { transactional: true } as const

describe('a transactional handler', () => {
  it('commits what it wrote together with the end of the entry, of an attempt that was recorded before', async () => {
    const { worker, inbox, id, entry } = await setUp()
    const handled: unknown[] = []
    const attempts: number[] = []
    worker.onHandled(({ entryId, attempt }) => handled.push([entryId, attempt]))
    worker.on(
      TYPE,
      async (_event, { transaction, attempt }) => {
        attempts.push(attempt, (await entry()).attempts)
        void transaction.query('ledger row')
        expect(inbox.committed).toEqual([])
      },
      TRANSACTIONAL,
    )
    await worker.start()
    await becomes(inbox, id, 'handled', 1)
    await until(() => handled.length === 1)
    expect(inbox.committed).toEqual(['ledger row'])
    expect(handled).toEqual([[id, 1]])
    expect(attempts).toEqual([1, 1])
  })

  it('is not tried again before the delay that it asks for', async () => {
    const { worker, inbox, id, clock } = await setUp()
    worker.on(
      TYPE,
      (_event, { transaction }) => {
        void transaction.query('not kept')
        throw new RetryLaterError('away', { retryAfterMs: 120_000 })
      },
      TRANSACTIONAL,
    )
    await worker.start()
    const { dueAt } = await becomes(inbox, id, 'retrying', 1)
    expect(Number(dueAt) - clock()).toBe(120_000)
    expect(inbox.committed).toEqual([])
  })

  it('is rolled back when it throws, and has a new transaction at the next attempt', async () => {
    const { worker, inbox, id, clock, failures } = await setUp()
    worker.on(
      TYPE,
      (_event, { transaction, attempt }) => {
        void transaction.query(`attempt ${attempt}`)
        if (attempt === 1) throw new Error('not yet')
      },
      TRANSACTIONAL,
    )
    await worker.start()
    const { reason } = await becomes(inbox, id, 'retrying', 1)
    expect(reason).toBe('Error: not yet')
    expect(inbox.committed).toEqual([])
    clock.advance(60_000)
    await becomes(inbox, id, 'handled', 2)
    expect(inbox.committed).toEqual(['attempt 2'])
    expect(new Set(inbox.transactions).size).toBe(2)
    expect(failures).toMatchObject([{ code: 'ERR_HANDLER_FAILED', attempt: 1 }])
  })

  it('is rolled back by a DoNotRetryError, which makes a dead letter', async () => {
    const { worker, inbox, id } = await setUp()
    worker.on(
      TYPE,
      (_event, { transaction }) => {
        void transaction.query('ledger row')
        throw new DoNotRetryError('no such account')
      },
      TRANSACTIONAL,
    )
    await worker.start()
    await becomes(inbox, id, 'dead', 1)
    expect(inbox.committed).toEqual([])
  })

  it('commits only if the other handlers of the type succeed, which have no transaction', async () => {
    const { worker, inbox, id, clock } = await setUp()
    const others: boolean[] = []
    worker
      .on(TYPE, (_event, { transaction }) => transaction.query('ledger row'), TRANSACTIONAL)
      .on(TYPE, (_event, context) => {
        others.push('transaction' in context)
        if (context.attempt === 1) throw new Error('not yet')
      })
      .onAny((_event, context) => others.push('transaction' in context))
    await worker.start()
    await becomes(inbox, id, 'retrying', 1)
    expect(inbox.committed).toEqual([])
    clock.advance(60_000)
    await becomes(inbox, id, 'handled', 2)
    expect(inbox.committed).toEqual(['ledger row'])
    expect(others).toEqual([false, false, false, false])
  })

  it('cannot commit when it returns after its time, and is not called again before it returns', async () => {
    const { worker, inbox, id, clock, failures } = await setUp()
    const { promise, resolve } = deferred()
    const late: unknown[] = []
    worker.on(
      TYPE,
      async (_event, { transaction, attempt }) => {
        void transaction.query('in time')
        if (attempt > 1) return
        await promise
        try {
          void transaction.query('too late')
        } catch (error) {
          late.push(error)
        }
      },
      { ...TRANSACTIONAL, timeoutMs: 20 },
    )
    await worker.start()
    // The transaction is over although the handler has not returned.
    await until(() => inbox.transactions[0]?.isOver === true)
    clock.advance(30_000)
    expect(await becomes(inbox, id, 'running')).toMatchObject({ attempts: 1 })
    expect(inbox.transactions).toHaveLength(1)
    resolve()
    await becomes(inbox, id, 'retrying', 1)
    expect(late).toEqual([new Error('the transaction is over')])
    expect(inbox.committed).toEqual([])
    expect(failures).toMatchObject([{ code: 'ERR_HANDLER_TIMEOUT' }])
  })

  it('that has lost its lease cannot commit', async () => {
    const { worker, inbox, id, clock } = await setUp()
    const { promise, resolve } = deferred()
    const lost: unknown[] = []
    const handled: unknown[] = []
    worker.events.on('leaseLost', ({ entryId }) => lost.push(entryId))
    worker.onHandled((event) => handled.push(event))
    worker.on(
      TYPE,
      async (_event, { transaction }) => {
        void transaction.query('ledger row')
        await promise
      },
      TRANSACTIONAL,
    )
    await worker.start()
    await until(() => inbox.transactions.length === 1)
    clock.advance(120_000)
    // Somebody else takes the entry.
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000, interrupted: true })
    expect(entries).toHaveLength(1)
    resolve()
    await until(() => lost.length === 1)
    expect(lost).toEqual([id])
    expect(handled).toEqual([])
    expect(inbox.committed).toEqual([])
    expect((await inbox.show(id))!.state).toBe('running')
  })

  it('is not called when the transaction cannot begin: the entry is retried, and its reason says so', async () => {
    const { worker, inbox, id, clock, failures } = await setUp()
    let calls = 0
    worker.on(TYPE, () => calls++, TRANSACTIONAL)
    inbox.beginsWith = () => Promise.reject(new Error('no connection is free'))
    await worker.start()
    const { reason } = await becomes(inbox, id, 'retrying', 1)
    expect(reason).toBe(
      'Error: no handler was called, because the transaction did not begin: no connection is free',
    )
    expect(calls).toBe(0)
    expect(failures).toMatchObject([{ code: 'ERR_INBOX_UNAVAILABLE' }])
    inbox.beginsWith = async () => {}
    clock.advance(60_000)
    await becomes(inbox, id, 'handled', 2)
    expect(calls).toBe(1)
  })

  it('is retried when its transaction cannot be committed', async () => {
    const { worker, inbox, id, clock, failures } = await setUp()
    worker.on(TYPE, (_event, { transaction }) => transaction.query('ledger row'), TRANSACTIONAL)
    inbox.commitsWith = () => Promise.reject(new Error('could not serialize access'))
    await worker.start()
    const { reason } = await becomes(inbox, id, 'retrying', 1)
    expect(reason).toBe('Error: the transaction of the handler was not committed: could not serialize access')
    expect(failures).toMatchObject([{ code: 'ERR_HANDLER_FAILED' }])
    inbox.commitsWith = async () => {}
    clock.advance(60_000)
    await becomes(inbox, id, 'handled', 2)
    expect(inbox.committed).toEqual(['ledger row'])
  })

  it('is aborted when the connection is lost, and not called again before it returns', async () => {
    const { worker, inbox, id, clock } = await setUp()
    const { promise, resolve } = deferred()
    const signals: AbortSignal[] = []
    worker.on(
      TYPE,
      async (_event, { signal }) => {
        signals.push(signal)
        if (signals.length === 1) await promise
      },
      TRANSACTIONAL,
    )
    let cut!: (error: Error) => void
    inbox.connectionLost = new Promise((_, reject) => (cut = reject))
    inbox.connectionLost.catch(() => {})
    await worker.start()
    await until(() => signals.length === 1)
    cut(new Error('connection terminated'))
    await until(() => signals[0]!.aborted)
    inbox.connectionLost = new Promise(() => {})
    expect((await inbox.show(id))!.state).toBe('running')
    resolve()
    await becomes(inbox, id, 'retrying', 1)
    clock.advance(60_000)
    await becomes(inbox, id, 'handled', 2)
  })

  it('is not called when its transaction began after the end of its lease, as in a process that was paused', async () => {
    const { worker, inbox, id, log } = await setUp({ leaseMs: 1_000, handlerTimeoutMs: 500 })
    const attempts: number[] = []
    worker.on(TYPE, (_event, { attempt }) => attempts.push(attempt), TRANSACTIONAL)
    const pause = pausing()
    inbox.beginsWith = async () => {
      if (inbox.timeoutsMs.length === 1) pause(1_000)
    }
    await worker.start()
    await becomes(inbox, id, 'handled', 1)
    const moves = () => log.lines.flatMap(({ fields }) => fields['move'] ?? [])
    await until(() => moves().includes('complete'))
    expect(moves()).toEqual(['handBack', 'complete'])
    expect(attempts).toEqual([1])
  })

  it('that a stop leaves behind commits nothing afterwards', async () => {
    const { worker, inbox, id } = await setUp()
    const { promise, resolve } = deferred()
    worker.on(
      TYPE,
      async (_event, { transaction }) => {
        void transaction.query('ledger row')
        await promise
      },
      TRANSACTIONAL,
    )
    await worker.start()
    await until(() => inbox.transactions.length === 1)
    const pass = fakeTimeouts()
    const stopped = worker.stop()
    await pass(5_000)
    await stopped
    resolve()
    await until(() => inbox.transactions[0]!.isOver)
    expect(inbox.committed).toEqual([])
    expect((await inbox.show(id))!.state).not.toBe('handled')
  })

  it('has a transaction that is limited by the longest timeout of its type', async () => {
    const { worker, inbox, id } = await setUp({ handlerTimeoutMs: 200 })
    worker
      .on(TYPE, () => {}, { ...TRANSACTIONAL, timeoutMs: 100 })
      .on(TYPE, () => {})
      .on('another.type', () => {}, { timeoutMs: 10_000 })
    await worker.start()
    await becomes(inbox, id, 'handled')
    // And 5 seconds to begin and to commit.
    expect(inbox.timeoutsMs).toEqual([5_200])
  })
})
