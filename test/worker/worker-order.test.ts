import fc from 'fast-check'
import { DoNotRetryError } from '../../src/handlers/do-not-retry.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { fakeClock } from '../support/fake-clock.js'
import { randomRuns } from '../support/random-runs.js'
import { work, type Run } from '../support/running-worker.js'
import { until } from '../support/until.js'

const entriesOf = (runs: readonly Run[]) => runs.map(({ event }) => event.payload['entry'])
const body = (entry: number) => JSON.stringify({ Id: '64b87e81-f9c7-4125-8565-b199c6e65b4f', entry })

describe('events that share an order key', () => {
  it('are handled in the order in which they arrived, one at a time', async () => {
    const { store, runs, called, underWay } = work({ handler: 'manual' })
    for (const entry of [1, 2, 3, 4]) await store({ orderKey: 'account 1', body: body(entry) })
    for (const count of [1, 2, 3, 4]) {
      const run = await called(count)
      expect(underWay()).toBe(1)
      run.succeed()
    }
    expect(entriesOf(runs)).toEqual([1, 2, 3, 4])
  })

  it('do not hold up others', async () => {
    const { store, runs, called } = work({ handler: 'manual' })
    for (const [index, orderKey] of ['a', 'a', 'b', undefined, undefined, 'a', 'b'].entries())
      await store({ orderKey, body: body(index) })
    await called(4)
    expect(entriesOf(runs)).toEqual([0, 2, 3, 4])
  })

  it('wait while one of them waits for its next attempt', async () => {
    const { store, becomes, runs, called, clock, inbox } = work({ handler: 'manual' })
    const [first, second] = [await store({ orderKey: 'a' }), await store({ orderKey: 'a' })]
    ;(await called(1)).fail(new Error('no'))
    await becomes(first, 'retrying')
    const other = await store()
    ;(await called(2)).succeed()
    await becomes(other, 'handled')
    expect(await inbox.show(second)).toMatchObject({ state: 'stored' })

    clock.advance(1_000)
    ;(await called(3)).succeed()
    ;(await called(4)).succeed()
    await becomes(second, 'handled')
    expect(runs.map(({ context }) => context.attempt)).toEqual([1, 1, 2, 1])
  })

  it('go on behind a dead letter', async () => {
    const { store, becomes, called } = work({ handler: 'manual' })
    const [first, second] = [await store({ orderKey: 'a' }), await store({ orderKey: 'a' })]
    ;(await called(1)).fail(new DoNotRetryError('no'))
    await becomes(first, 'dead')
    ;(await called(2)).succeed()
    await becomes(second, 'handled')
  })

  it('are never handled two at a time nor out of order, whatever fails', async () => {
    const entries = fc.array(
      fc.record({ orderKey: fc.constantFrom('a', 'b', 'c', undefined), failures: fc.nat({ max: 4 }) }),
      { minLength: 1, maxLength: 25 },
    )
    await fc.assert(
      fc.asyncProperty(entries, async (given) => {
        const clock = fakeClock()
        const running = new Set<string>()
        const first: Record<string, number[]> = {}
        const { store, inbox, worker } = work({
          clock,
          inbox: new MemoryInbox({ clock }),
          concurrency: 5,
          maxAttempts: 3,
          start: false,
          async handler({ payload }, { attempt }) {
            const { orderKey, failures } = given[payload['entry'] as number]!
            if (orderKey !== undefined) {
              expect(running).not.toContain(orderKey)
              running.add(orderKey)
              if (attempt === 1) (first[orderKey] ??= []).push(payload['entry'] as number)
            }
            await new Promise((resolve) => setImmediate(resolve))
            running.delete(orderKey!)
            if (attempt <= failures) throw new Error('no')
          },
        })
        for (const [index, { orderKey }] of given.entries()) await store({ orderKey, body: body(index) })
        worker.start()
        let ended = 0
        await until(() => {
          clock.advance(1_000)
          worker.wake()
          void inbox.stats().then(({ counts: { handled, dead } }) => (ended = handled + dead))
          return ended === given.length
        })
        const dead = given.filter(({ failures }) => failures >= 3).length
        expect(await inbox.stats()).toMatchObject({ counts: { dead, handled: given.length - dead } })
        for (const order of Object.values(first)) expect(order).toEqual(order.toSorted((a, b) => a - b))
        await worker.stop(1_000)
      }),
      { numRuns: randomRuns(25) },
    )
  })
})

describe('two workers on one inbox', () => {
  it('share the work, and nothing is handled twice', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const workers = [1, 2].map(() => work({ clock, inbox, concurrency: 2, handler: 'manual' }))
    const ids = await Promise.all(Array.from({ length: 20 }, () => workers[0]!.store()))
    const runs = () => workers.flatMap((each) => each.runs)
    while (runs().length < 20) {
      await until(() => workers.every(({ underWay }) => underWay() === 2) || runs().length === 20)
      for (const run of runs()) run.succeed()
    }
    for (const run of runs()) run.succeed()
    for (const id of ids) await workers[0]!.becomes(id, 'handled', 1)
    expect(new Set(runs().map(({ event }) => event.idempotencyKey)).size).toBe(20)
    for (const { runs } of workers) expect(runs.length).toBeGreaterThan(3)
  })

  it('run what shares an order key one at a time, whoever does it', async () => {
    const clock = fakeClock()
    const inbox = new MemoryInbox({ clock })
    const workers = [1, 2].map(() => work({ clock, inbox, concurrency: 5, handler: 'manual' }))
    for (let entry = 0; entry < 10; entry++) await workers[0]!.store({ orderKey: 'a', body: body(entry) })
    const order: unknown[] = []
    for (let entry = 0; entry < 10; entry++) {
      const open = () => workers.flatMap(({ runs }) => runs.filter(({ isOver }) => !isOver))
      await until(() => open().length > 0)
      expect(open()).toHaveLength(1)
      order.push(...entriesOf(open()))
      const [run] = open()
      run!.succeed()
      await until(() => run!.isOver)
    }
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
