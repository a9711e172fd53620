import type { StandardSchema } from '../../src/handlers/standard-schema.js'
import { away } from '../support/interposed-inbox.js'
import { INTERRUPTED, LEASE_MS, leasedWorker, stopTime } from '../support/leased-worker.js'
import { pausing } from '../support/pausing.js'
import { until } from '../support/until.js'

stopTime()

describe('an entry whose handlers did not begin, as the process or its disk stood still', () => {
  // No timer can tell: the event loop stood still as well.
  const standStill = () =>
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + LEASE_MS / 2 + 1)

  it.each(['claim', 'begin'] as const)(
    'has used up no attempt, however often that happens: %s',
    async (method) => {
      const { store, set, runs, pass, becomes } = leasedWorker({ maxAttempts: 1, handler: () => {} })
      let claims = 0
      // Longer than the worker waits for the answer.
      const late = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
        const answer = await call()
        claims++
        await new Promise((resolve) => setTimeout(resolve, LEASE_MS - 5_000))
        return answer
      }
      if (method === 'claim') set('claim', late)
      else set('begin', late)
      const ids = await Promise.all(Array.from({ length: 8 }, () => store()))
      for (let round = 0; round < 3; round++) {
        const before = claims
        await pass(LEASE_MS + 1_000)
        expect(claims).toBeGreaterThan(before)
      }
      expect(runs).toEqual([])
      set(method, undefined)
      await pass(2 * LEASE_MS)
      for (const id of ids) await becomes(id, 'handled', 1)
      expect(runs.map(({ context }) => context.attempt)).toEqual(Array(8).fill(1))
    },
  )

  it('does not begin late, when somebody else may have it', async () => {
    const { set, store, runs, pass, becomes, log } = leasedWorker({ handler: () => {}, maxAttempts: 1 })
    let still: jest.SpyInstance | undefined
    set('begin', async (begin) => {
      const begun = await begin()
      still = standStill()
      return begun
    })
    const id = await store()
    await until(() => log.withCode('ERR_INBOX_UNAVAILABLE').length === 1)
    still?.mockRestore()
    expect(runs).toEqual([])
    set('begin', undefined)
    await pass(2_000)
    await becomes(id, 'handled', 1)
  })

  it('does not begin when its payload was checked until after the end of its lease', async () => {
    const pause = pausing()
    let checks = 0
    const validate = (value: unknown) => {
      if (++checks === 1) pause(1_000)
      return { value }
    }
    const schema: StandardSchema = { '~standard': { version: 1, vendor: 'test', validate } }
    const { store, runs, becomes, log } = leasedWorker({ handler: () => {}, schema, leaseMs: 1_000 })
    await becomes(await store(), 'handled', 1)
    const moves = () => log.lines.flatMap(({ fields }) => fields['move'] ?? [])
    await until(() => moves().includes('complete'))
    expect(moves()).toEqual(['handBack', 'complete'])
    expect(runs.map(({ context }) => context.attempt)).toEqual([1])
  })

  it.each([
    ['begins, and is not recorded again', false],
    ['does not begin late, when somebody else may have it', true],
  ])('that was recorded with the claim %s', async (_, isLate) => {
    const { set, store, runs, calls, becomes, worker } = leasedWorker({ handler: () => {} })
    let still: jest.SpyInstance | undefined
    set('claim', async (claim) => {
      const claims = await claim()
      if (isLate && claims.entries.length > 0) still ??= standStill()
      return claims
    })
    const id = await store()
    if (isLate) {
      await until(() => calls.settle === 1)
      expect(runs).toEqual([])
      set('claim', undefined)
      still?.mockRestore()
    }
    await becomes(id, 'handled', 1)
    expect(calls.begin).toBe(isLate ? 1 : 0)
    expect(runs.map(({ context }) => context.attempt)).toEqual([1])
    await worker.stop(0)
  })

  it('does not begin where somebody else has it', async () => {
    const { set, store, runs, otherClaims, memory, inbox, clock, log, worker } = leasedWorker({
      handler: () => {},
      maxAttempts: 1,
    })
    set('begin', async (begin) => {
      clock.advance(LEASE_MS)
      const { entries } = await memory.claim({ ...INTERRUPTED, interrupted: false })
      expect(await memory.begin(entries, LEASE_MS)).toEqual(new Set([id]))
      return begin()
    })
    const id = await store()
    await until(() => log.lines.length > 0)
    expect(runs).toEqual([])
    expect(await otherClaims()).toEqual([])
    expect(await inbox.show(id)).toMatchObject({ state: 'running', attempts: 1 })
    set('begin', undefined)
    await worker.stop(0)
  })

  it('is handed back and tried again, not in a busy loop, where its beginning cannot be recorded', async () => {
    const { set, store, calls, runs, pass, becomes, inbox } = leasedWorker({
      handler: () => {},
      maxAttempts: 1,
      pollMs: 2 ** 30,
    })
    set('begin', away)
    const id = await store()
    await pass(10_000)
    expect(calls.begin).toBeGreaterThan(5)
    expect(calls.begin).toBeLessThan(15)
    expect(await inbox.show(id)).toMatchObject({ attempts: 0 })
    set('begin', undefined)
    await pass(2_000)
    await becomes(id, 'handled', 1)
    expect(runs).toHaveLength(1)
  })
})
