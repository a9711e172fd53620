import { createWorker, type Outcome, type WorkerOptions } from '../../src/index.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { collectedLog } from '../support/collected-log.js'
import { interposed } from '../support/interposed-inbox.js'
import { subscription } from '../support/subscription.js'
import { becomes } from '../support/running-worker.js'
import { until } from '../support/until.js'

const TYPE = subscription.eventTypeName

const stops: (() => Promise<void>)[] = []
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())))

function setUp(options: Partial<WorkerOptions> = {}) {
  const { inbox, calls, set } = interposed(new MemoryInbox())
  const log = collectedLog()
  const worker = createWorker({ inbox, logger: log, pollMs: 5, stopTimeoutMs: 50, ...options })
  stops.push(() => worker.stop())
  return { worker, inbox, calls, set, log }
}

describe('createWorker', () => {
  it('handles what is in the inbox and what is stored later', async () => {
    const { worker, inbox, log } = setUp()
    const types: string[] = []
    worker.on(TYPE, ({ type }) => types.push(type))
    await inbox.add(arrival())
    await worker.start()
    await becomes(inbox, '1', 'handled')
    await inbox.add(arrival())
    await becomes(inbox, '2', 'handled')
    expect(types).toEqual([TYPE, TYPE])
    expect(log.withCode('WARN_HANDLER_MISSING')).toEqual([])
  })

  it('tells its hooks and its subscribers', async () => {
    const { worker, inbox } = setUp({ maxAttempts: 1 })
    const told: unknown[][] = []
    worker
      .on(TYPE, ({ byOperator }) => {
        if (!byOperator) throw new Error('no')
      })
      .onError((error, outcome: Outcome) => told.push(['error', error, outcome.status, outcome.entryId]))
      .onDeadLetter(({ entryId, reason }) => told.push(['dead', entryId, reason]))
      .onHandled(({ entryId, attempt }) => told.push(['handled', entryId, attempt]))
    worker.events.on('claimed', ({ entryId }) => told.push(['claimed', entryId]))
    await inbox.add(arrival())
    await worker.start()
    await becomes(inbox, '1', 'dead')
    await inbox.act('1', 'retry', 'a person')
    await until(() => told.length === 5)
    expect(told).toEqual([
      ['claimed', '1'],
      ['error', new Error('no'), 200, '1'],
      ['dead', '1', 'Error: no'],
      ['claimed', '1'],
      ['handled', '1', 1],
    ])
  })

  it('logs what a listener throws', async () => {
    const { worker, inbox, log } = setUp()
    worker
      .onAny(() => {})
      .onHandled(() => {
        throw new Error('mine')
      })
    await inbox.add(arrival())
    await worker.start()
    await until(() => log.withCode('ERR_LISTENER_FAILED').length === 1)
    expect(await inbox.show('1')).toMatchObject({ state: 'handled' })
  })

  it('starts once, is ready from then on, and closes the inbox when it is stopped', async () => {
    const { worker, calls } = setUp()
    worker.onAny(() => {})
    expect(worker.ready).toBe(false)
    await Promise.all([worker.start(), worker.start()])
    expect(worker.ready).toBe(true)
    await Promise.all([worker.stop(), worker.stop()])
    expect(worker.ready).toBe(false)
    expect(calls).toMatchObject({ open: 1, close: 1 })
    await expect(worker.start()).rejects.toMatchObject({ code: 'ERR_STOPPED' })
  })

  it('can be started again after the inbox could not be opened', async () => {
    const { worker, set } = setUp()
    set('open', () => Promise.reject(new Error('the disk is away')))
    await expect(worker.start()).rejects.toThrow('the disk is away')
    expect(worker.ready).toBe(false)
    set('open', undefined)
    await worker.start()
    expect(worker.ready).toBe(true)
  })

  it('warns when it has no handler', async () => {
    const { worker, log } = setUp()
    await worker.start()
    expect(log.withCode('WARN_HANDLER_MISSING')).toHaveLength(1)
  })

  it('leaves every entry as it is when it has no handler', async () => {
    const { worker, calls } = setUp()
    await worker.start()
    expect(worker.ready).toBe(true)
    await worker.stop()
    expect(calls).toMatchObject({ open: 1, claim: 0, prune: 0, close: 1 })
  })

  it('takes no handler once it has started', async () => {
    const { worker } = setUp()
    await worker.start()
    expect(() => worker.on(TYPE, () => {})).toThrow(
      expect.objectContaining({
        code: 'ERR_STARTED',
        message: expect.stringContaining('the worker has started'),
      }),
    )
  })

  it.each([
    [
      { inbox: undefined },
      /^createWorker: inbox is undefined: pass a SqliteInbox, a PostgresInbox or a MemoryInbox/,
    ],
    [{ concurrency: 0 }, /^createWorker: concurrency is 0: /],
    [
      { handlerTimeoutMs: 60_000 },
      /^createWorker: handlerTimeoutMs is 60000: stay within nine tenths of leaseMs/,
    ],
    [{ schemas: { a: 1 } }, /^createWorker: schemas\["a"\] is 1: pass a Standard Schema/],
    [{ dependencyTimeoutMs: 0 }, /^createWorker: dependencyTimeoutMs is 0: /],
    [{ orderBy: () => '' }, /^createWorker has no option "orderBy"/],
  ])('refuses %p', (options, message) => {
    expect(() => setUp(options as object)).toThrow(message)
    stops.length = 0
  })
})
