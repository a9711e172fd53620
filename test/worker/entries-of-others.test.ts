import type { Claims } from '../../src/inbox/engine.js'
import { arrival, type ArrivalOptions } from '../support/arrivals.js'
import { deferred } from '../support/deferred.js'
import { leasedWorker, stopTime } from '../support/leased-worker.js'
import type { WorkOptions } from '../support/running-worker.js'
import { turns } from '../support/turns.js'

const POLL_MS = 1_000

stopTime()

/** A worker with one slot that has asked once, and found nothing, so that arrivals may begin. */
async function quietWorker(options: WorkOptions = {}) {
  const working = leasedWorker({ concurrency: 1, pollMs: POLL_MS, ...options })
  await working.worker.idle()
  const { memory, set } = working
  return {
    ...working,
    storeElsewhere: async (given?: ArrivalOptions) => (await memory.add(arrival(given))).id,
    /** Holds back what the inbox answers to claims, until the function that is returned is called. */
    holdClaims() {
      const { promise, resolve } = deferred()
      set('claim', async (claim) => {
        const claims = await claim()
        await promise
        return claims
      })
      return resolve
    },
  }
}

describe('a worker that looks for entries which other processes have stored', () => {
  it('meanwhile lets callbacks begin that arrive, however few slots there are', async () => {
    const { receive, becomes, calls, pass, holdClaims } = await quietWorker({ handler: () => {} })
    await becomes((await receive(arrival())).id, 'handled')
    const answerClaims = holdClaims()
    const before = calls.claim
    await pass(POLL_MS)
    expect(calls.claim - before).toBe(1)
    const added = await receive(arrival())
    expect(added).toMatchObject({ result: 'stored', claim: { id: added.id } })
    await becomes(added.id, 'handled', 1)
    answerClaims()
  })

  it.each([
    ['says whether more is due', (claims: Claims) => claims],
    ['leaves that out', ({ entries, interruptedIsDue }: Claims) => ({ entries, interruptedIsDue })],
  ])('finds them in an inbox that %s', async (_which, answerOf) => {
    const { receive, becomes, storeElsewhere, set, pass } = await quietWorker({ handler: () => {} })
    set('claim', async (claim) => answerOf(await claim()))
    await becomes((await receive(arrival())).id, 'handled')
    const ids = [await storeElsewhere(), await storeElsewhere()]
    await pass(POLL_MS)
    for (const id of ids) await becomes(id, 'handled', 1)
    await becomes((await receive(arrival())).id, 'handled', 1)
  })

  it('finds them while arrivals use all slots, and those that arrive later wait', async () => {
    const { receive, called, storeElsewhere, pass } = await quietWorker()
    await receive(arrival())
    const running = await called(1)
    await storeElsewhere({ idempotencyKey: 'of another process' })
    await pass(POLL_MS)
    expect(await receive(arrival())).not.toHaveProperty('claim')
    running.succeed()
    expect((await called(2)).event.idempotencyKey).toBe('of another process')
  })

  it('finds them while arrivals use all slots, also if the latest one cannot begin', async () => {
    const { worker, receive, called, storeElsewhere, pass } = await quietWorker()
    const ordered = arrival({ orderKey: 'account 1' })
    await receive(ordered)
    ;(await called(1)).succeed()
    await worker.idle()
    await receive(arrival())
    const running = await called(2)
    // A duplicate.
    await receive(ordered)
    await storeElsewhere({ idempotencyKey: 'of another process' })
    await pass(POLL_MS)
    running.succeed()
    expect((await called(3)).event.idempotencyKey).toBe('of another process')
  })

  it('takes them when a slot is free, if none was when it looked', async () => {
    const { worker, called, storeElsewhere, pass } = await quietWorker()
    await storeElsewhere()
    worker.wake()
    const running = await called(1)
    await storeElsewhere()
    await pass(POLL_MS)
    running.succeed()
    await called(2)
  })

  it.each([
    ['one that is due', undefined],
    ['one that was interrupted', { leaseMs: 0 }],
  ])('takes %s when a slot became free before the inbox answered', async (_which, begin) => {
    const { receive, memory, called, pass, holdClaims } = await quietWorker()
    await receive(arrival())
    const running = await called(1)
    await memory.add(arrival(), begin)
    const answerClaims = holdClaims()
    await pass(POLL_MS)
    running.succeed()
    await turns()
    answerClaims()
    await called(2)
  })

  it.each([NaN, Infinity, null, '1'])(
    'does not keep an inbox busy that says %p of when more is due',
    async (nextDueInMs) => {
      const { worker, calls, set } = await quietWorker()
      set('claim', async () => ({ entries: [], interruptedIsDue: false, nextDueInMs }) as unknown as Claims)
      const before = calls.claim
      worker.wake()
      await turns()
      expect(calls.claim - before).toBe(1)
    },
  )
})
