import type { EntryId } from '../../src/index.js'
import { arrival, type ArrivalOptions } from '../support/arrivals.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { away, interposed } from '../support/interposed-inbox.js'
import { work, type WorkOptions } from '../support/running-worker.js'
import { until } from '../support/until.js'
import { settle } from '../support/settle.js'

const MINUTE = 60_000

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] })
})
afterEach(() => jest.useRealTimers())

function setUp(options: WorkOptions = {}) {
  const clock = fakeClock()
  const memory = new MemoryInbox({ clock, retentionMs: 10 * MINUTE, discardedRetentionMs: 20 * MINUTE })
  const between = interposed(memory)
  const working = work({ clock, inbox: between.inbox, pollMs: 1_000, ...options })
  return {
    ...working,
    ...between,
    async store(given?: ArrivalOptions) {
      const id = await working.store(given)
      working.worker.wake()
      return id
    },
    async pass(ms: number) {
      clock.advance(ms)
      await jest.advanceTimersByTimeAsync(ms)
    },
    /** The service signs another callback now: by its clock, too, time has passed. */
    async sign() {
      await memory.add(arrival({ suspicion: 'only tells the time', signedAt: new Date(clock()) }))
    },
    isGone: (id: EntryId) => memory.show(id).then((entry) => entry === undefined),
  }
}

describe('old entries', () => {
  it('are deleted once they were handled long enough ago', async () => {
    const { store, becomes, pass, sign, isGone, calls } = setUp()
    const id = await store()
    await becomes(id, 'handled')
    await pass(10 * MINUTE)
    await sign()
    expect(await isGone(id)).toBe(false)
    const before = calls.prune
    await pass(MINUTE)
    await sign()
    await pass(MINUTE)
    await until(() => calls.prune >= before + 2)
    expect(await isGone(id)).toBe(true)
  })

  it('are kept longer when a person discarded them', async () => {
    const { store, pass, sign, isGone, inbox, calls } = setUp()
    const id = await store({ suspicion: 'ERR_BODY_NOT_JSON' })
    await inbox.act(id, 'discard', 'test')
    await pass(20 * MINUTE)
    await sign()
    expect(await isGone(id)).toBe(false)
    await pass(MINUTE)
    await sign()
    const before = calls.prune
    await pass(MINUTE)
    await until(() => calls.prune >= before + 2)
    expect(await isGone(id)).toBe(true)
  })

  it('are never deleted in any other state', async () => {
    const { store, becomes, pass, inbox } = setUp({
      maxAttempts: 2,
      handler({ payload }) {
        if (payload['fails']) throw new Error('no')
      },
    })
    const dead = await store({ body: '{"Id": "1", "fails": true}' })
    await becomes(dead, 'retrying')
    await pass(MINUTE)
    await becomes(dead, 'dead')
    const retrying = await store({ body: '{"Id": "2", "fails": true}' })
    await becomes(retrying, 'retrying')
    await store({ type: 'a.b' })
    await store({ suspicion: 'ERR_BODY_NOT_JSON' })
    const before = await inbox.stats()
    expect(before.counts).toMatchObject({ dead: 1, retrying: 1, unhandled: 1, quarantined: 1 })
    // The worker's own time does not pass, so that what is to be retried stays so.
    await inbox.prune({ state: 'handled', limit: 1_000 })
    await inbox.prune({ state: 'discarded', limit: 1_000 })
    expect(await inbox.stats()).toEqual(before)
    await pass(25 * MINUTE)
    expect(await inbox.stats()).toMatchObject({ counts: { dead: 2, unhandled: 1, quarantined: 1 } })
  })

  it('are deleted in small steps, between which all else goes on', async () => {
    const { store, becomes, inbox, calls, set, sign, worker, clock, isGone } = setUp({ start: false })
    const ids = await Promise.all(Array.from({ length: 1_000 }, () => store()))
    const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1_000, leaseMs: MINUTE })
    for (const entry of entries) await settle(inbox, entry, { move: 'complete' })
    clock.advance(10 * MINUTE + 1)
    await sign()

    const turns: number[] = []
    let turn = 0
    const count = () => void (turn++, ticking && setImmediate(count))
    let ticking = true
    setImmediate(count)
    const steps: number[] = []
    set('prune', async (prune) => {
      turns.push(turn)
      const pruned = await prune()
      steps.push(pruned)
      return pruned
    })
    worker.start()
    await until(() => steps.length === 7)
    ticking = false
    expect(steps).toEqual([200, 200, 200, 200, 200, 0, 0])
    expect(new Set(turns).size).toBe(7)
    expect(calls.prune).toBe(7)
    expect(await isGone(ids[0]!)).toBe(true)
    await becomes(await store({ signedAt: new Date(clock()) }), 'handled')
  })

  it('are left for later when they cannot be deleted', async () => {
    const { store, becomes, pass, sign, isGone, set, log, calls } = setUp()
    const id = await store()
    await becomes(id, 'handled')
    set('prune', away)
    await pass(11 * MINUTE)
    expect(log.withCode('ERR_INBOX_UNAVAILABLE')[0]).toMatchObject({ level: 'warn' })
    set('prune', undefined)
    await sign()
    const before = calls.prune
    await pass(MINUTE)
    await until(() => calls.prune >= before + 2)
    expect(await isGone(id)).toBe(true)
  })

  it.each(['count', 'stats'] as const)(
    'are deleted although the entries cannot be counted: %s',
    async (method) => {
      const { store, becomes, pass, sign, isGone, set, calls } = setUp()
      const id = await store()
      await becomes(id, 'handled')
      await store({ type: 'a.b' })
      set(method, away)
      await pass(11 * MINUTE)
      await sign()
      const before = calls[method]
      await pass(2 * MINUTE)
      await until(() => calls[method] >= before + 2)
      expect(await isGone(id)).toBe(true)
    },
  )

  it('are not deleted by two rounds at once, however long one takes', async () => {
    const { pass, set, calls, worker } = setUp({ start: false, leaseMs: 10 * MINUTE })
    const gate = deferred()
    set('prune', (prune) => gate.promise.then(prune))
    worker.start()
    await pass(5 * MINUTE)
    expect(calls.prune).toBe(1)
    gate.resolve()
  })
})

describe('entries that no worker has a handler for', () => {
  it('are warned of once a minute, with their number', async () => {
    const { store, pass, log, becomes } = setUp()
    for (let count = 0; count < 2; count++) await store({ type: 'a.b' })
    await becomes(await store(), 'handled')
    expect(log.withCode('ERR_HANDLER_MISSING')).toEqual([])
    for (const minutes of [1, 2]) {
      await pass(MINUTE)
      await until(() => log.withCode('ERR_HANDLER_MISSING').length === minutes)
    }
    expect(log.withCode('ERR_HANDLER_MISSING')).toMatchObject([
      { level: 'warn', fields: { entries: 2 } },
      { level: 'warn', fields: { entries: 2 } },
    ])
  })

  it('are not warned of while there are none, or where the inbox cannot count them', async () => {
    const { store, pass, log, becomes, calls, inbox } = setUp()
    await becomes(await store(), 'handled')
    await pass(MINUTE)
    await until(() => calls.count === 1)
    Object.assign(inbox, { stats: undefined })
    await store({ type: 'a.b' })
    const before = calls.prune
    await pass(MINUTE)
    await until(() => calls.prune >= before + 2)
    expect(log.withCode('ERR_HANDLER_MISSING')).toEqual([])
  })

  it('are looked for without counting all entries', async () => {
    const { store, pass, becomes, calls } = setUp()
    await becomes(await store(), 'handled')
    const before = calls.prune
    await pass(MINUTE)
    await until(() => calls.prune >= before + 2)
    expect(calls.stats).toBe(0)
  })

  it('are not those of a worker all of whose handlers have been running for longer than five minutes', async () => {
    const { store, pass, called, inbox } = setUp({
      handler: 'manual',
      concurrency: 1,
      timeoutMs: 2 ** 31 - 1,
    })
    for (let count = 0; count < 2; count++) await store()
    await called(1)
    for (let minutes = 1; minutes <= 7; minutes++) {
      await inbox.claim({ eventTypes: ['a.b'], limit: 0, leaseMs: MINUTE })
      await pass(MINUTE)
      expect(await inbox.stats()).toMatchObject({ counts: { running: 1, stored: 1, unhandled: 0 } })
    }
  })
})
