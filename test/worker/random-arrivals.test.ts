import fc from 'fast-check'
import type { Arrival } from '../../src/inbox/engine.js'
import { MemoryInbox } from '../support/whole-inbox.js'
import { arrival } from '../support/arrivals.js'
import { interposed } from '../support/interposed-inbox.js'
import { randomRuns } from '../support/random-runs.js'
import { work } from '../support/running-worker.js'
import { until } from '../support/until.js'

describe('whatever comes when', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ does: fc.constant('arrive'), isOrdered: fc.nat({ max: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('repeat'), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('store', 'wake', 'ask', 'turns') }) },
  )
  const plan = fc.record({
    steps: fc.array(step, { maxLength: 40 }),
    // In event loop turns, of one call of the inbox or the handler after the other. 7: it fails instead.
    delays: fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 30 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    interrupted: fc.nat({ max: 2 }),
    ignoresBegin: fc.boolean(),
  })

  it('no more handlers than slots run, no entry twice at once, and nothing is left', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ steps, delays, concurrency, interrupted, ignoresBegin }) => {
        let calls = 0
        const pass = async (mayFail: boolean) => {
          const delay = delays[calls++ % delays.length]!
          for (let turn = 0; turn < delay; turn++) await new Promise((resolve) => setImmediate(resolve))
          if (mayFail && delay === 7) throw new Error('busy')
        }
        const real = new MemoryInbox()
        const add = real.add.bind(real)
        for (let count = 0; count < interrupted; count++) await add(arrival(), { leaseMs: 0 })
        if (ignoresBegin) real.add = (arrived) => add(arrived)
        const { inbox, set } = interposed(real)
        set('claim', (call) => pass(false).then(call))
        set('begin', (call) => pass(false).then(call))
        set('settle', (call) => pass(false).then(call))
        set('add', async (call) => {
          await pass(true)
          const added = await call()
          await pass(false)
          return added
        })
        const running: string[] = []
        const wrong: string[] = []
        const { worker, receive } = work({
          inbox,
          concurrency,
          pollMs: 2 ** 30,
          retryDelayMs: 1,
          maxRetryDelayMs: 2,
          maxAttempts: 1_000,
          handler: async ({ idempotencyKey }, { attempt }) => {
            if (running.includes(idempotencyKey)) wrong.push(`${idempotencyKey} runs twice`)
            if (running.push(idempotencyKey) > concurrency) wrong.push(`${running.length} handlers run`)
            try {
              // Otherwise, if each delay is a failure, it would fail for ever.
              await pass(attempt < 3)
            } finally {
              running.splice(running.indexOf(idempotencyKey), 1)
            }
          },
        })
        const arrivals = [arrival()]
        const asked: Promise<void>[] = []
        const send = (arrived: Arrival) => void Promise.resolve(receive(arrived)).catch(() => {})
        for (const { does, ...given } of steps) {
          if (does === 'arrive')
            arrivals.push(
              arrival({ orderKey: 'isOrdered' in given && given.isOrdered === 0 ? 'x' : undefined }),
            )
          if (does === 'arrive') send(arrivals.at(-1)!)
          if (does === 'repeat') send(arrivals[('which' in given ? given.which : 0) % arrivals.length]!)
          if (does === 'store') await add(arrival())
          if (does === 'store' || does === 'wake') worker.wake()
          if (does === 'ask') asked.push(worker.idle())
          if (does === 'turns') await pass(false)
        }
        let left = Infinity
        await until(() => {
          void real
            .stats()
            .then(({ counts: { stored, running, retrying } }) => (left = stored + running + retrying))
          return left === 0
        })
        await Promise.all(asked)
        await worker.stop(1_000)
        expect(wrong).toEqual([])
      }),
      { numRuns: randomRuns(60) },
    )
  }, 120_000)
})
