import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { recognise, type KnownOfArrival, type Recognition } from '../../../src/callback/recognition.js'
import { MemoryIdempotencyStore } from '../../../src/idempotency/memory-store.js'
import type { Claim, ClaimRequest } from '../../../src/index.js'
import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { claimOf, claimRequest, completed, digest } from '../../support/claim-requests.js'
import { randomRuns } from '../../support/random-runs.js'
import { CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { anyRedis, describeWithAnyRedis } from '../../support/redis-server.js'
import { StoreTime } from '../../support/redis-time.js'

describeWithAnyRedis('RedisIdempotencyStore', () => {
  let server: Awaited<ReturnType<typeof anyRedis>>
  let open: OpenClient<NodeRedisClient>
  beforeAll(async () => {
    server = await anyRedis()
    open = await CLIENTS['node-redis'](server.url)
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })

  const createStore = (retentionMs: number) => {
    const prefix = `test-${randomUUID()}`
    const time = new StoreTime(open.client, prefix)
    const client = time.of(open.client)
    const store = new RedisIdempotencyStore({ client, prefix, retentionMs, logger: false })
    return { store, pass: (ms: number) => time.pass(ms) }
  }

  describe('decides as recognise() does', () => {
    const KEYS = ['unknown', 'same-body', 'other-body'] as const
    const SIGNATURES = ['unknown', 'same-key', 'other-key'] as const
    const STATES = ['running', 'completed'] as const
    // A key that is not known has no signature.
    const isPossible = ([key, , signature]: readonly string[]) =>
      !(key === 'unknown' && signature === 'same-key')
    const combinations = KEYS.flatMap((key) =>
      STATES.flatMap((keyState) =>
        SIGNATURES.flatMap((signature) =>
          STATES.map((otherState) => [key, keyState, signature, otherState] as const),
        ),
      ),
    ).filter(isPossible)

    it.each(combinations)('key %s (%s), signature %s (%s)', async (key, keyState, signature, otherState) => {
      const { store } = createStore(60_000)
      const arrival = claimRequest()
      const make = (state: 'running' | 'completed', request: ClaimRequest) =>
        state === 'running' ? claimOf(store, request) : completed(store, request)
      if (signature === 'other-key') await make(otherState, { ...arrival, key: claimRequest().key })
      if (key !== 'unknown') {
        const first = claimRequest({ key: arrival.key })
        await make(keyState, {
          ...first,
          ...(key === 'same-body' ? { bodyHash: arrival.bodyHash } : {}),
          ...(signature === 'same-key' ? { signature: arrival.signature } : {}),
        })
      }
      const known: KnownOfArrival = { key, signature, isSuspect: false, isForgotten: false }
      expect((await store.claim(arrival)).state).toBe(
        answers(keyState === 'running' ? 'in-progress' : 'completed')[recognise(known)],
      )
    })

    const answers = (duplicate: string): Partial<Record<Recognition, string>> => ({
      new: 'claimed',
      duplicate,
      conflict: 'conflict',
      replay: 'replay',
    })
  })

  it('still knows both keys when a signature went to another one after a lease had run out', async () => {
    const { store, pass } = createStore(RETENTION)
    const request = claimRequest({ leaseMs: 10_000 })
    const other = { ...request, key: claimRequest().key }
    const late = await claimOf(store, request)
    await pass(10_000)
    const taken = await claimOf(store, other)
    expect(await late.complete()).toBe(true)
    expect(await taken.complete()).toBe(true)
    expect((await store.claim(request)).state).toBe('completed')
    expect((await store.claim(other)).state).toBe('completed')
  })

  it('does what MemoryIdempotencyStore does, whatever the steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
        const { store, pass } = createStore(RETENTION)
        let passed = 0
        const clock = () => performance.now() + passed
        const memory = new MemoryIdempotencyStore({ retentionMs: RETENTION, clock, logger: false })
        const claims: { ofRedis: Claim; ofMemory: Claim; at: number }[] = []
        for (const { kind, request, nth, ms } of steps) {
          if (kind === 'pass time') {
            passed += ms
            await pass(ms)
          } else if (kind === 'claim') {
            const [ofRedis, ofMemory] = await Promise.all([store.claim(request), memory.claim(request)])
            expect(ofRedis.state).toBe(ofMemory.state)
            if (ofRedis.state !== 'claimed' || ofMemory.state !== 'claimed') continue
            // The memory store forgets the attempts of abandoned claims lazily.
            if (passed < RETENTION) expect(ofRedis.claim.attempt).toBe(ofMemory.claim.attempt)
            claims.push({ ofRedis: ofRedis.claim, ofMemory: ofMemory.claim, at: passed })
          } else {
            const claim = claims[nth % Math.max(claims.length, 1)]
            if (!claim || passed - claim.at >= RETENTION) continue
            const answered = await Promise.all([claim.ofRedis[kind](), claim.ofMemory[kind]()])
            expect(answered[0]).toBe(answered[1])
          }
        }
      }),
      { numRuns: randomRuns(150) },
    )
  }, 60_000)
})

const RETENTION = 60_000

interface Step {
  readonly kind: 'claim' | 'complete' | 'release' | 'pass time'
  readonly request: ClaimRequest
  readonly nth: number
  readonly ms: number
}

const few = (what: string, count: number) =>
  fc.constantFrom(...Array.from({ length: count }, (_, i) => digest(`${what} ${i}`)))

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Step['kind'][]>('claim', 'claim', 'claim', 'complete', 'release', 'pass time'),
  request: fc.record({
    key: few('key', 3),
    bodyHash: few('body', 2),
    signature: few('signature', 4),
    leaseMs: fc.constantFrom(10_000, 30_000),
  }),
  nth: fc.nat(20),
  // Every sum of these that is below a lease or the retention is so by almost four seconds, as the two clocks differ by what a step
  // takes.
  ms: fc.constantFrom(5_100, 15_300, 30_600),
})
