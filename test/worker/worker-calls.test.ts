import { createWorker } from '../../src/index.js'
import type { WholeInbox } from '../support/whole-inbox.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { deferred } from '../support/deferred.js'
import { fakeClock } from '../support/fake-clock.js'
import { away, interposed } from '../support/interposed-inbox.js'
import { becomes, work } from '../support/running-worker.js'
import { subscription } from '../support/subscription.js'
import { TransactionalMemoryInbox } from '../support/transactional-memory-inbox.js'
import { until } from '../support/until.js'

/** `maxAttempts: 1`: the last attempt does not begin with its claim. */
function setUp({ pollMs = 2 ** 30, maxAttempts = 3 } = {}) {
  const between = interposed(new MemoryInbox())
  const working = work({ inbox: between.inbox, handler: 'manual', start: false, pollMs, maxAttempts })
  return { ...between, ...working }
}

describe('a worker that handles several entries', () => {
  it.each([
    ['with the claim', 3, 0],
    ['of one claim in one call', 1, 1],
  ])('records the begins %s, and the ends of one tick in one call', async (_, maxAttempts, begins) => {
    const { store, worker, runs, called, calls, becomes } = setUp({ maxAttempts })
    const ids = [await store(), await store(), await store()]
    worker.start()
    await called(3)
    expect(calls.begin).toBe(begins)
    for (const { succeed } of runs) {
      succeed()
      // Within the same event loop tick.
      for (let microtask = 0; microtask < 50; microtask++) await Promise.resolve()
    }
    for (const id of ids) await becomes(id, 'handled')
    expect(calls.settle).toBe(1)
  })

  // They wait for `pollMs` before they try again.
  it('records each end again when the call for all of them failed', async () => {
    const { store, worker, runs, called, calls, becomes, set, log } = setUp({ pollMs: 1 })
    const ids = [await store(), await store()]
    worker.start()
    await called(2)
    set('settle', () => (set('settle', undefined), away()))
    for (const { succeed } of runs) succeed()
    for (const id of ids) await becomes(id, 'handled')
    expect(calls.settle).toBe(3)
    expect(log.withCode('ERR_INBOX_UNAVAILABLE')).toHaveLength(1)
  })

  it('hands back what could not begin when the call for all of them failed', async () => {
    const { store, worker, called, becomes, set, runs } = setUp({ pollMs: 1, maxAttempts: 1 })
    const ids = [await store(), await store()]
    set('begin', () => (set('begin', undefined), away()))
    worker.start()
    await called(2)
    for (const { succeed } of runs) succeed()
    for (const id of ids) await becomes(id, 'handled', 1)
  })
})

describe('an inbox that can be watched', () => {
  function watched() {
    const listeners = new Set<() => void>()
    const inbox: WholeInbox = Object.assign(new MemoryInbox(), {
      watch(onDue: () => void) {
        listeners.add(onDue)
        return () => listeners.delete(onDue)
      },
    })
    return { inbox, listeners }
  }

  it('wakes the worker, which does not wait for its next poll', async () => {
    const { inbox, listeners } = watched()
    const { store, runs } = work({ inbox, pollMs: 2 ** 30 })
    await until(() => listeners.size === 1)
    await store()
    for (const onDue of listeners) onDue()
    await until(() => runs.length === 1)
  })

  it('is not watched before the start, nor after the stop', async () => {
    const { inbox, listeners } = watched()
    const { worker } = work({ inbox, start: false })
    expect(listeners.size).toBe(0)
    worker.start()
    expect(listeners.size).toBe(1)
    await worker.stop(1_000)
    expect(listeners.size).toBe(0)
  })
})

it('an inbox that gives an entry of another type than the worker asked for does not have it taken for handled', async () => {
  const between = interposed(new MemoryInbox())
  const { calls } = between
  const { store, inbox, worker } = work({ inbox: between.inbox, start: false })
  const id = await store({ type: 'other' })
  const memory = between.inbox
  between.set('claim', () => {
    between.set('claim', undefined)
    return memory.claim({ eventTypes: 'any', limit: 1, leaseMs: 60_000 })
  })
  worker.start()
  await until(() => calls.settle === 1)
  await until(() => calls.claim >= 3)
  expect((await inbox.show(id))?.state).not.toBe('handled')
  expect(await inbox.show(id)).toMatchObject({ attempts: 0 })
})

it('a worker handles an entry that it has claimed again before it reads that the last end was recorded', async () => {
  const clock = fakeClock()
  const between = interposed(new MemoryInbox({ clock }))
  const { store, called, becomes } = work({ inbox: between.inbox, clock, handler: 'manual' })
  const id = await store()
  const { fail } = await called(1)
  const claimedAgain = deferred()
  between.set('claim', async (claim) => {
    const claims = await claim()
    // After the worker has taken them.
    if (claims.entries.length > 0) setImmediate(claimedAgain.resolve)
    return claims
  })
  between.set('settle', async (settle) => {
    between.set('settle', undefined)
    const settled = await settle()
    clock.advance(60_000)
    await claimedAgain.promise
    return settled
  })
  fail(new Error('once'))
  const { succeed } = await called(2)
  succeed()
  await becomes(id, 'handled', 2)
})

it('a worker handles an entry that an operator retries before it reads that the transaction was committed', async () => {
  const inbox = new TransactionalMemoryInbox()
  const { id } = await inbox.add(arrival())
  const worker = createWorker({ inbox, pollMs: 5, logger: false })
  const handled: number[] = []
  worker.onHandled(({ attempt }) => handled.push(attempt))
  const begun: boolean[] = []
  worker.on(subscription.eventTypeName, ({ byOperator }) => void begun.push(byOperator), {
    transactional: true,
  })
  const transact = inbox.transact.bind(inbox)
  inbox.transact = async (claim, options, handle) => {
    inbox.transact = transact
    const result = await transact(claim, options, handle)
    await inbox.act(id, 'retry', 'ann', { again: true })
    await becomes(inbox, id, 'running')
    // The worker reads the answer to its claim first.
    await new Promise(setImmediate)
    return result
  }
  await worker.start()
  try {
    await until(() => handled.length === 2)
    expect(begun).toEqual([false, true])
  } finally {
    await worker.stop()
  }
})
