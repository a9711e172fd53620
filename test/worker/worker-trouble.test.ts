import { rmSync } from 'node:fs'
import { DoNotRetryError, type EntryId } from '../../src/index.js'
import type { Claims } from '../../src/inbox/engine.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { fakeClock } from '../support/fake-clock.js'
import { away, interposed } from '../support/interposed-inbox.js'
import { work, type WorkOptions } from '../support/running-worker.js'
import { inboxFile, inboxOn } from '../support/sqlite-file.js'
import { deferred } from '../support/deferred.js'
import { turns } from '../support/turns.js'
import { until } from '../support/until.js'

const fails = (): never => {
  throw new Error('the disk is away')
}

function troubled(options: WorkOptions = {}) {
  const clock = fakeClock()
  const between = interposed(new MemoryInbox({ clock }))
  return { ...work({ clock, inbox: between.inbox, ...options }), ...between }
}

/** Its inbox refuses to record the end of the first entry, until it is mended. */
function refusingOne() {
  const inbox = new MemoryInbox({ clock: fakeClock() })
  const refused: EntryId[][] = []
  const settle: MemoryInbox['settle'] = async (ends) => {
    const ids = ends.map(({ claim }) => claim.id)
    if (!ids.includes('1')) return MemoryInbox.prototype.settle.call(inbox, ends)
    refused.push(ids)
    return away()
  }
  const mend = () => Object.assign(inbox, { settle: MemoryInbox.prototype.settle })
  return { ...work({ inbox: Object.assign(inbox, { settle }), pollMs: 1, start: false }), refused, mend }
}

test('a worker handles a callback that a new file has given the id of one that is running', async () => {
  const clock = fakeClock()
  const file = inboxFile()
  const inbox = inboxOn(file, { clock, logger: false })
  const { store, called, becomes } = work({ clock, inbox, handler: 'manual' })
  const id = await store()
  const first = await called(1)
  for (const each of [file, `${file}-wal`, `${file}-shm`]) rmSync(each)
  expect(await store()).toBe(id)
  await until(() => first.context.signal.aborted)
  first.succeed()
  const second = await called(2)
  expect(second.event.idempotencyKey).not.toBe(first.event.idempotencyKey)
  second.succeed()
  await becomes(id, 'handled', 1)
})

describe('a worker whose inbox is out of order', () => {
  it('handles an entry that an operator retries before the worker knows that its end was recorded', async () => {
    const { store, becomes, called, set, inbox } = troubled({ handler: 'manual', pollMs: 1 })
    set('settle', async (call) => {
      await call()
      return away()
    })
    const id = await store()
    const first = await called(1)
    first.succeed()
    await becomes(id, 'handled')
    set('settle', away)
    expect(await inbox.act(id, 'retry', 'operator', { again: true })).toEqual({ done: true })
    await becomes(id, 'running')
    set('settle', undefined)
    const second = await called(2)
    second.succeed()
    await becomes(id, 'handled', 1)
  })

  it('keeps the slot of an entry that it claims again before it knows that its end was recorded', async () => {
    const { store, becomes, called, set, clock, runs, underWay } = troubled({
      handler: 'manual',
      concurrency: 1,
      pollMs: 1,
    })
    const answer = deferred<void>()
    set('settle', async (call) => {
      const settled = await call()
      await answer.promise
      return settled
    })
    const id = await store()
    const first = await called(1)
    first.fail(new Error('busy'))
    await becomes(id, 'retrying')
    clock.advance(10_000)
    await becomes(id, 'running')
    set('settle', undefined)
    await store()
    await turns(200)
    expect(runs).toHaveLength(1)
    answer.resolve()
    const second = await called(2)
    expect(second.event.idempotencyKey).toBe(first.event.idempotencyKey)
    expect(underWay()).toBe(1)
    second.succeed()
    await called(3)
  })

  it('goes on by itself once entries can be claimed again, and logs the first failed claim and the end of the trouble', async () => {
    const { store, becomes, set, calls, log } = troubled()
    set('claim', away)
    const id = await store()
    await until(() => calls.claim >= 5)
    set('claim', undefined)
    await becomes(id, 'handled', 1)
    const about = log.lines.filter(({ message }) => /claim/.test(message))
    expect(about).toMatchObject([
      {
        level: 'error',
        fields: { code: 'ERR_INBOX_UNAVAILABLE', err: { message: 'the disk is away' } },
        message: 'the worker could not claim entries',
      },
      {
        level: 'info',
        fields: { failures: expect.any(Number) },
        message: 'the worker can claim entries again',
      },
    ])
    expect(about[1]!.fields['failures']).toBeGreaterThanOrEqual(4)
  })

  it('logs once that ends cannot be recorded, however many entries wait and however often it tries, and the end of the trouble', async () => {
    const { store, becomes, set, calls, log } = troubled({ pollMs: 1 })
    set('settle', away)
    const ids = [await store()]
    await until(() => calls.settle >= 3)
    ids.push(await store(), await store())
    await until(() => calls.settle >= 12)
    set('settle', undefined)
    for (const id of ids) await becomes(id, 'handled')
    const again = 'the ends of entries can be recorded again'
    await until(() => log.lines.some(({ message }) => message === again))
    expect(log.withCode('ERR_INBOX_UNAVAILABLE')).toHaveLength(1)
    expect(log.lines.filter(({ message }) => message === again)).toEqual([
      { level: 'info', message: again, fields: { failures: expect.any(Number) } },
    ])
  })

  it('repeats the end of one entry alone, so that those of others are recorded, and logs once that it fails', async () => {
    const { store, becomes, log, refused, worker, mend } = refusingOne()
    const [stuck, other] = [await store(), await store()]
    worker.start()
    await becomes(other, 'handled')
    await becomes(await store(), 'handled')
    await until(() => refused.length >= 5)
    expect(refused.slice(0, 5)).toEqual([[stuck, other], [stuck], [stuck], [stuck], [stuck]])
    expect(log.withCode('ERR_INBOX_UNAVAILABLE')).toMatchObject([{ fields: { entryId: stuck } }])
    mend()
    await becomes(stuck, 'handled')
  })

  it('logs once that the start of handlers cannot be recorded, however many entries it hands back, and the end of the trouble', async () => {
    const { store, becomes, set, calls, log } = troubled({ pollMs: 1, maxAttempts: 1 })
    set('begin', away)
    const ids = [await store(), await store()]
    await until(() => calls.begin >= 5 && calls.settle >= 5)
    set('begin', undefined)
    for (const id of ids) await becomes(id, 'handled', 1)
    const message = 'the start of the handlers could not be recorded: the entry is handed back'
    expect(log.lines.filter(({ level }) => level === 'error' || level === 'warn')).toMatchObject([
      {
        level: 'error',
        message,
        fields: { code: 'ERR_INBOX_UNAVAILABLE', err: { message: 'the disk is away' } },
      },
    ])
    expect(log.lines).toContainEqual({
      level: 'info',
      message: 'the start of handlers can be recorded again',
      fields: { failures: expect.any(Number) },
    })
  })

  it('does not ask again in a busy loop', async () => {
    const { set, calls, worker } = troubled({ pollMs: 2 ** 30 })
    set('claim', away)
    await until(() => calls.claim === 1)
    worker.wake()
    await until(() => calls.claim === 2)
    await turns(50)
    expect(calls.claim).toBe(2)
  })

  it.each<[string, () => unknown]>([
    ['throws in place of rejecting', fails],
    ['returns no promise', () => ({ entries: [], interruptedIsDue: false })],
    ['resolves to nothing', async () => {}],
    ['resolves to no entries', async () => ({})],
  ])('survives an inbox that %s', async (_what, claim) => {
    const { store, becomes, set, calls } = troubled()
    set('claim', claim as () => Promise<Claims>)
    const id = await store()
    await until(() => calls.claim >= 3)
    set('claim', undefined)
    await becomes(id, 'handled')
  })

  it('survives a clock that throws', async () => {
    const clock = fakeClock()
    let read: () => number = fails
    const inbox = new MemoryInbox({ clock })
    const { store, becomes, log } = work({ inbox, clock: Object.assign(() => read(), clock) })
    const id = await store()
    await until(() => log.withCode('ERR_INBOX_UNAVAILABLE').length > 0)
    read = clock
    await becomes(id, 'handled')
  })

  it.each([
    ['succeeded', undefined, 'handled'],
    ['failed', new Error('no'), 'retrying'],
  ] as const)(
    'records that a handler %s once that is possible, and does not run it again',
    async (_what, error, state) => {
      const { store, becomes, set, calls, runs, log } = troubled({
        handler: () => (error ? Promise.reject(error) : undefined),
      })
      set('settle', away)
      const id = await store()
      await until(() => calls.settle >= 3)
      set('settle', undefined)
      await becomes(id, state, 1)
      expect(runs).toHaveLength(1)
      expect(log.withCode('ERR_INBOX_UNAVAILABLE')[0]).toMatchObject({
        message: 'the end of an entry could not be recorded',
        fields: { entryId: id },
      })
    },
  )

  it.each([
    ['handled', undefined],
    ['retrying', new Error('no')],
    ['dead', new DoNotRetryError('no')],
  ] as const)(
    'reports an entry as %s if that was recorded although the call rejected',
    async (state, error) => {
      const { store, becomes, set, worker, events, log } = troubled({
        handler: () => (error ? Promise.reject(error) : undefined),
      })
      const published: string[] = []
      for (const name of ['handled', 'failed', 'dead', 'leaseLost'] as const)
        events.on(name, () => published.push(name))
      set('settle', async (settle) => {
        await settle()
        set('settle', undefined)
        return away()
      })
      const id = await store()
      await becomes(id, state, 1)
      await worker.idle()
      expect(published).toEqual([state === 'retrying' ? 'failed' : state])
      expect(log.withCode('WARN_LEASE_LOST')).toEqual([])
    },
  )

  it('takes no more than it has room for while ends cannot be recorded', async () => {
    const { store, set, runs, calls, becomes } = troubled({ concurrency: 2 })
    set('settle', away)
    const ids = await Promise.all(Array.from({ length: 5 }, () => store()))
    await until(() => calls.settle >= 6)
    expect(runs).toHaveLength(2)
    set('settle', undefined)
    for (const id of ids) await becomes(id, 'handled')
  })
})

describe('a handler that throws an error which cannot be read', () => {
  const unreadable = (name: string, value: object) => [name, Object.defineProperty(new Error(), name, value)]

  it.each([
    unreadable('name', { value: Symbol('no text') }),
    unreadable('message', {
      get() {
        throw new Error('no')
      },
    }),
    unreadable('cause', {
      get() {
        throw new Error('no')
      },
    }),
  ] as [string, Error][])('is retried like any other: its %s', async (_what, error) => {
    const { store, becomes, worker, log } = troubled({ handler: () => Promise.reject(error) })
    const id = await store()
    await becomes(id, 'retrying', 1)
    await worker.stop(1_000)
    expect(log.lines.filter(({ level }) => level !== 'info').length).toBeGreaterThan(0)
  })
})
