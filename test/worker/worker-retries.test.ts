import { DoNotRetryError } from '../../src/handlers/do-not-retry.js'
import { RetryLaterError } from '../../src/handlers/retry-later.js'
import type { StandardSchema } from '../../src/index.js'
import type { WholeInbox } from '../support/whole-inbox.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { fakeClock } from '../support/fake-clock.js'
import { interposed } from '../support/interposed-inbox.js'
import { work, type WorkOptions } from '../support/running-worker.js'
import { turns } from '../support/turns.js'
import { until } from '../support/until.js'

const LEASE_MS = 60_000

describe('of a handler that fails', () => {
  const failing = () => Promise.reject(new TypeError('the ledger is closed'))

  it('the entry waits for its delay and is tried again', async () => {
    const { store, becomes, clock, called, runs } = work({ handler: 'manual' })
    const id = await store()
    const first = await called(1)
    first.fail(new Error('no'))
    const { dueAt, reason, attempts } = await becomes(id, 'retrying')
    expect({ reason, attempts }).toEqual({ reason: 'Error: no', attempts: 1 })
    expect(Number(dueAt) - clock()).toBeGreaterThanOrEqual(500)
    expect(Number(dueAt) - clock()).toBeLessThanOrEqual(1_000)

    clock.advance(Number(dueAt) - clock() - 1)
    expect(runs).toHaveLength(1)
    clock.advance(1)
    const second = await called(2)
    expect(second.context.attempt).toBe(2)
    second.succeed()
    expect(await becomes(id, 'handled')).toMatchObject({ attempts: 2 })
  })

  it('the entry is tried again when it is due, however seldom the worker looks for new ones', async () => {
    const { store, worker, becomes, runs } = work({
      inbox: new MemoryInbox(),
      handler: (_event, { attempt }) => (attempt < 4 ? failing() : undefined),
      maxAttempts: 4,
      retryDelayMs: 10,
      pollMs: 2 ** 30,
    })
    const id = await store()
    worker.wake()
    await becomes(id, 'handled', 4)
    expect(runs.map(({ context }) => context.attempt)).toEqual([1, 2, 3, 4])
  })

  it('nothing keeps the worker busy while entries wait for a turn, a handler, a person or another process', async () => {
    const { store, worker, called, inbox, calls } = looking({ pollMs: 2 ** 30, handler: 'manual' })
    for (let count = 0; count < 2; count++) await store({ orderKey: 'a' })
    await store({ type: 'other' })
    await store({ type: 'other' })
    await store({ suspicion: 'ERR_BODY_NOT_JSON' })
    worker.wake()
    await called(1)
    const [other] = (await inbox.claim({ eventTypes: ['other'], limit: 1, leaseMs: LEASE_MS })).entries
    await inbox.begin([other!], 0)
    worker.wake()
    await until(() => calls.claim >= 2)
    const before = calls.claim
    await turns(100)
    expect(calls.claim - before).toBeLessThanOrEqual(1)
  })

  it('the entry is a dead letter after the last attempt, and keeps the error', async () => {
    const { store, becomes, clock, runs, failures, log } = work({ handler: failing, maxAttempts: 3 })
    const id = await store()
    for (const attempt of [1, 2]) {
      await becomes(id, 'retrying', attempt)
      clock.advance(60_000)
    }
    expect(await becomes(id, 'dead')).toMatchObject({
      attempts: 3,
      reason: 'TypeError: the ledger is closed',
      dueAt: undefined,
    })
    expect(runs.map(({ context }) => context.attempt)).toEqual([1, 2, 3])
    expect(failures.map(({ code }) => code)).toEqual(Array(3).fill('ERR_HANDLER_FAILED'))
    await until(() => log.lines.some(({ message }) => message === 'entry is a dead letter'))
    const lines = log.lines.filter(({ message }) => message.startsWith('entry'))
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'error'])
  })

  it('nothing is tried again where one attempt is all there is', async () => {
    const { store, becomes, runs } = work({ handler: failing, maxAttempts: 1 })
    await becomes(await store(), 'dead')
    expect(runs).toHaveLength(1)
  })

  it('the entry is a dead letter at once when the handler says that trying again is of no use', async () => {
    const { store, becomes, runs } = work({
      handler: () => Promise.reject(new DoNotRetryError('no such account')),
    })
    expect(await becomes(await store(), 'dead')).toMatchObject({
      attempts: 1,
      reason: 'DoNotRetryError: no such account',
    })
    expect(runs).toHaveLength(1)
  })

  it('the word of another copy of DoNotRetryError counts as well', async () => {
    const fromTheOtherBuild = Object.assign(new Error('no'), { code: 'ERR_DO_NOT_RETRY' })
    const { store, becomes } = work({ handler: () => Promise.reject(fromTheOtherBuild) })
    await becomes(await store(), 'dead')
  })

  it.each<[string, number | (() => Date), number, number]>([
    ['not before the delay that the handler asks for', 120_000, 120_000, 120_000],
    ['not before the date that the handler names', () => new Date(Date.now() + 120_000), 110_000, 120_000],
    ['after the usual delay when the handler asks for less', 1, 500, 1_000],
    ['within a day, whatever the handler asks for', Infinity, 86_400_000, 86_400_000],
  ])('the entry is tried again %s', async (_when, asked, atLeastMs, atMostMs) => {
    const { store, becomes, clock, failures } = work({
      handler() {
        const retryAfterMs = typeof asked === 'number' ? asked : asked()
        throw new RetryLaterError('away', { retryAfterMs })
      },
    })
    const { dueAt, attempts, attemptHistory } = await becomes(await store(), 'retrying')
    expect(attempts).toBe(1)
    expect(attemptHistory).toMatchObject([{ code: 'ERR_RETRY_LATER' }])
    const delayMs = Number(dueAt) - clock()
    expect(delayMs).toBeGreaterThanOrEqual(atLeastMs)
    expect(delayMs).toBeLessThanOrEqual(atMostMs)
    await until(() => failures.length === 1)
    expect(failures).toMatchObject([{ code: 'ERR_RETRY_LATER', retryInMs: delayMs }])
  })

  it('the entry is a dead letter after the last attempt, although the handler asks for a delay', async () => {
    const later = new RetryLaterError('away', { retryAfterMs: 120_000 })
    const { store, becomes } = work({ handler: () => Promise.reject(later), maxAttempts: 1 })
    await becomes(await store(), 'dead')
  })

  it('the entry is a dead letter at once when its payload does not fit the schema', async () => {
    const schema: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'secret content', path: ['amount'] }] }),
      },
    }
    const { store, becomes, runs, failures } = work({ schema })
    const { reason } = await becomes(await store(), 'dead')
    expect(reason).toMatch(/the payload does not fit its schema at: amount$/)
    expect(runs).toEqual([])
    expect(failures).toMatchObject([{ code: 'ERR_PAYLOAD_INVALID' }])
  })

  it('the entry is tried again when its schema could not be asked', async () => {
    const schema: StandardSchema = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('away')) },
    }
    const { store, becomes } = work({ schema })
    expect(await becomes(await store(), 'retrying')).toMatchObject({ reason: 'Error: away' })
  })

  it.each([
    ['nothing', undefined, 'a handler threw something that is not an Error'],
    ['a string', 'card 4111 1111 1111 1111', 'a handler threw something that is not an Error'],
    ['an Error with a long message', new Error('x'.repeat(1_000)), `Error: ${'x'.repeat(492)}…`],
  ])('the reason is short and nothing but a message, when it throws %s', async (_what, thrown, reason) => {
    const { store, becomes } = work({ handler: () => Promise.reject(thrown) })
    expect(await becomes(await store(), 'retrying')).toMatchObject({ reason })
  })
})

function looking(options: WorkOptions) {
  const clock = fakeClock()
  const between = interposed(new MemoryInbox({ clock }))
  return { ...work({ clock, inbox: between.inbox, ...options }), ...between }
}

/** Claims and begins what is due, as a process does that is killed then. */
async function beginAsIfKilled(inbox: WholeInbox, interrupted: boolean) {
  const { entries } = await inbox.claim({ eventTypes: 'any', limit: 1, leaseMs: LEASE_MS, interrupted })
  await inbox.begin(entries, LEASE_MS)
  return entries
}

describe('an entry that kills its process at every attempt', () => {
  it('is a dead letter after the last attempt, and says why', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const { store, becomes, worker, runs } = work({ clock, inbox, maxAttempts: 3, start: false })
    const id = await store()
    for (const attempt of [1, 2, 3]) {
      expect(await beginAsIfKilled(inbox, attempt > 1)).toMatchObject([{ id, attempt }])
      clock.advance(LEASE_MS)
    }
    worker.start()
    expect(await becomes(id, 'dead')).toMatchObject({
      reason:
        'tried 3 times, and maxAttempts is 3: the process died during the last attempt, or maxAttempts was lowered since',
    })
    expect(runs).toEqual([])
  })

  it('is tried once more as long as it has attempts left', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const { store, becomes, worker, runs } = work({ clock, inbox, maxAttempts: 3, start: false })
    const id = await store()
    for (const attempt of [1, 2]) {
      await beginAsIfKilled(inbox, attempt > 1)
      clock.advance(LEASE_MS)
    }
    worker.start()
    await becomes(id, 'handled')
    expect(runs.map(({ context }) => context.attempt)).toEqual([3])
  })
})
