import { deferred } from '../support/deferred.js'
import { away, never } from '../support/interposed-inbox.js'
import { INTERRUPTED, LEASE_MS, leasedWorker, stopTime } from '../support/leased-worker.js'
import { settle } from '../support/settle.js'
import { until } from '../support/until.js'

stopTime()

describe('while a handler runs longer than its lease', () => {
  it('the lease is renewed, so that nobody else takes the entry', async () => {
    const { store, called, becomes, pass, otherClaims, calls } = leasedWorker()
    const id = await store()
    const run = await called(1)
    await pass(10 * LEASE_MS)
    expect(calls.extend).toBeGreaterThanOrEqual(29)
    expect(await otherClaims()).toEqual([])
    expect(run.context.signal.aborted).toBe(false)
    run.succeed()
    expect(await becomes(id, 'handled')).toMatchObject({ attempts: 1 })
  })

  it('one renewal serves all that run', async () => {
    const { store, called, pass, calls } = leasedWorker({ concurrency: 20 })
    for (let count = 0; count < 20; count++) await store()
    await called(20)
    await pass(LEASE_MS / 3)
    expect(calls.extend).toBe(1)
  })

  it('nothing is renewed once nothing runs', async () => {
    const { store, called, becomes, pass, calls } = leasedWorker()
    const id = await store()
    const run = await called(1)
    run.succeed()
    await becomes(id, 'handled')
    await pass(LEASE_MS)
    expect(calls.extend).toBe(0)
  })

  it('a renewal that fails now and then does no harm', async () => {
    const { store, called, becomes, pass, set, otherClaims, log } = leasedWorker()
    const id = await store()
    const run = await called(1)
    for (let count = 0; count < 5; count++) {
      set('extend', away)
      await pass(LEASE_MS / 3)
      set('extend', undefined)
      await pass(LEASE_MS / 3)
    }
    expect(log.withCode('ERR_INBOX_UNAVAILABLE')).toHaveLength(5)
    expect(await otherClaims()).toEqual([])
    expect(run.context.signal.aborted).toBe(false)
    run.succeed()
    await becomes(id, 'handled')
  })
})

it('a renewal that resolves to nothing does not end the process', async () => {
  const { store, called, becomes, pass, set, log } = leasedWorker()
  const id = await store()
  const run = await called(1)
  set('extend', async () => undefined as never)
  await pass(LEASE_MS / 3)
  expect(log.withCode('ERR_INBOX_UNAVAILABLE')).toMatchObject([{ message: 'leases could not be renewed' }])
  set('extend', undefined)
  run.succeed()
  await becomes(id, 'handled')
})

describe('a handler whose lease was lost', () => {
  it('has its signal aborted', async () => {
    const { store, called, pass, otherClaims, clock } = leasedWorker()
    const id = await store()
    const { context } = await called(1)
    // As after a process was suspended: time has passed, and no heartbeat came.
    clock.advance(LEASE_MS)
    expect(await otherClaims()).toEqual([{ id, attempt: 2 }])
    const { signal } = context
    expect(signal.aborted).toBe(false)
    await pass(LEASE_MS / 3)
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({
      message: 'the lease of this entry was lost: another worker handles it',
    })
  })

  it.each([
    ['knows', true],
    ['does not know', false],
  ])('changes nothing by finishing late, when its worker %s that it was lost', async (_what, knows) => {
    const { store, called, pass, inbox, clock, log, calls } = leasedWorker()
    const id = await store()
    const run = await called(1)
    clock.advance(LEASE_MS)
    const { entries } = await inbox.claim(INTERRUPTED)
    await inbox.begin(entries, LEASE_MS)
    if (knows) await pass(LEASE_MS / 3)
    run.succeed()
    await until(() => log.withCode('WARN_LEASE_LOST').length === 1)
    expect(calls.settle).toBe(knows ? 0 : 1)
    expect(await inbox.show(id)).toMatchObject({ state: 'running', attempts: 2, finishedAt: undefined })

    expect(await settle(inbox, entries[0]!, { move: 'complete' })).toBe(true)
    expect(await inbox.show(id)).toMatchObject({ state: 'handled' })
  })

  it('changes nothing by failing late', async () => {
    const { store, called, pass, inbox, clock, log, failures } = leasedWorker({ maxAttempts: 1 })
    const id = await store()
    const run = await called(1)
    clock.advance(LEASE_MS)
    await inbox.claim(INTERRUPTED)
    await pass(LEASE_MS / 3)
    run.fail(run.context.signal.reason)
    await until(() => log.withCode('WARN_LEASE_LOST').length === 1)
    expect(await inbox.show(id)).toMatchObject({ state: 'running', attempts: 1, reason: undefined })
    expect(failures).toEqual([])
  })

  it('makes room for another entry once it has ended', async () => {
    const { store, called, pass, otherClaims, clock } = leasedWorker({ concurrency: 1 })
    await store()
    const run = await called(1)
    clock.advance(LEASE_MS)
    await otherClaims()
    await pass(LEASE_MS / 3)
    run.fail(new Error('aborted'))
    await store()
    expect((await called(2)).event.idempotencyKey).not.toBe(run.event.idempotencyKey)
  })
})

describe('a handler whose lease cannot be renewed', () => {
  it.each([
    ['reject', away],
    ['hang', never],
  ])('is aborted before anybody else can take the entry, when renewals %s', async (_how, instead) => {
    const { store, called, pass, set, otherClaims } = leasedWorker()
    const id = await store()
    const { context } = await called(1)
    const { signal } = context
    set('extend', instead)
    set('claim', away)
    for (let waited = 0; waited < LEASE_MS - 1_000; waited += 1_000) {
      await pass(1_000)
      expect(await otherClaims()).toEqual([])
    }
    await until(() => signal.aborted)
    expect(signal.reason).toMatchObject({
      message: 'the lease of this entry runs out and could not be renewed',
    })
    await pass(1_000)
    expect(await otherClaims()).toEqual([{ id, attempt: 2 }])
  })

  it('keeps its entry where nobody else took it', async () => {
    const { store, called, becomes, pass, set, runs, log } = leasedWorker()
    const id = await store()
    const run = await called(1)
    set('extend', away)
    await pass(LEASE_MS + 1_000)
    expect(run.context.signal.aborted).toBe(true)
    set('extend', undefined)
    await pass(LEASE_MS)
    run.succeed()
    await becomes(id, 'handled', 1)
    expect(runs).toHaveLength(1)
    expect(log.withCode('WARN_LEASE_LOST')).toEqual([])
  })
})

describe('what was handled while the inbox was out of reach', () => {
  it('is recorded when the inbox is back, and not handled again', async () => {
    const { store, called, becomes, pass, set, runs } = leasedWorker()
    const id = await store()
    const run = await called(1)
    for (const method of ['claim', 'extend', 'settle'] as const) set(method, away)
    run.succeed()
    await pass(3 * LEASE_MS)
    for (const method of ['claim', 'extend', 'settle'] as const) set(method, undefined)
    await pass(2_000)
    await becomes(id, 'handled')
    expect(runs).toHaveLength(1)
  })

  it('is recorded soon, however seldom the worker looks for new entries', async () => {
    const { store, called, becomes, pass, set, calls } = leasedWorker({ pollMs: 2 ** 30 })
    const id = await store()
    const run = await called(1)
    set('settle', away)
    run.succeed()
    await until(() => calls.settle === 1)
    set('settle', undefined)
    await pass(2_000)
    await becomes(id, 'handled', 1)
  })

  it.each([
    ['before', 0],
    ['after', 5_000],
  ])('counts as handled where the first record succeeds late, %s it is repeated', async (_when, lateMs) => {
    const { store, called, pass, set, becomes, log, events, calls } = leasedWorker()
    const handled = jest.fn()
    events.on('handled', handled)
    const first = deferred()
    let recording: Promise<ReadonlySet<string>> | undefined
    set('settle', (call) => (recording = recording ? recording.then(call) : first.promise.then(call)))
    const id = await store()
    ;(await called(1)).succeed()
    while (log.withCode('ERR_INBOX_UNAVAILABLE').length === 0) await pass(1_000)
    await pass(lateMs)
    expect(calls.settle).toBe(lateMs === 0 ? 1 : 2)
    first.resolve()
    await becomes(id, 'handled', 1)
    await pass(2_000)
    expect(log.withCode('WARN_LEASE_LOST')).toEqual([])
    expect(handled).toHaveBeenCalledTimes(1)
  })

  it('is left to the process that took it meanwhile', async () => {
    const { store, called, pass, set, inbox, clock, otherClaims, log } = leasedWorker()
    const id = await store()
    const run = await called(1)
    set('settle', away)
    set('extend', away)
    set('claim', away)
    run.succeed()
    await pass(LEASE_MS)
    expect(await otherClaims()).toEqual([{ id, attempt: 2 }])
    set('settle', undefined)
    await pass(2_000)
    expect(log.withCode('WARN_LEASE_LOST')).toHaveLength(1)
    expect(await inbox.show(id)).toMatchObject({ state: 'running', attempts: 1 })
    expect(Number((await inbox.show(id))!.dueAt)).toBeGreaterThan(clock())
  })
})
