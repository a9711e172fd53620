import fc from 'fast-check'
import { MemoryIdempotencyStore } from '../../../src/idempotency/memory-store.js'
import type { Claim, ClaimRequest } from '../../../src/index.js'
import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { claimOf, claimRequest, digest, stateOf } from '../../support/claim-requests.js'
import { randomRuns } from '../../support/random-runs.js'
import { CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

describeWithRedis('calls of one event loop tick', () => {
  let server: RedisServer
  let open: OpenClient<NodeRedisClient>
  let sent: string[]
  let store: RedisIdempotencyStore
  let prefixes = 0
  const newStore = (client: NodeRedisClient) =>
    new RedisIdempotencyStore({ client, prefix: `test-${prefixes++}`, logger: false })
  beforeAll(async () => {
    server = await RedisServer.start(['--appendonly', 'no'])
    open = await CLIENTS['node-redis'](server.url)
  })
  beforeEach(async () => {
    sent = []
    const sendCommand: NodeRedisClient['sendCommand'] = (args, options) => {
      sent.push(args[0]!)
      return open.client.sendCommand(args, options)
    }
    store = newStore({ sendCommand })
    await store.open()
    sent = []
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })
  const requests = (count: number) => Array.from({ length: count }, () => claimRequest())
  const claims = (of: readonly ClaimRequest[]) => Promise.all(of.map((request) => claimOf(store, request)))
  const states = (of: readonly ClaimRequest[]) => Promise.all(of.map((request) => stateOf(store, request)))
  const complete = (of: readonly Claim[]) => Promise.all(of.map(async (claim) => claim.complete()))
  const release = (of: readonly Claim[]) => Promise.all(of.map(async (claim) => claim.release()))
  const errors = async (calls: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(calls)).map((end) =>
      end.status === 'rejected' ? /^\w+/.exec((end.reason as Error).message)?.[0] : end.value,
    )

  it('share a command for each kind of step', async () => {
    await claims(requests(1))
    const [first, ...others] = await claims(requests(20))
    sent = []
    await Promise.all([release([first!]), complete(others)])
    await claims(requests(33))
    expect(sent.filter((command) => command === 'EVALSHA')).toHaveLength(4)
  })

  it('are decided as MemoryIdempotencyStore decides them, one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 12, size: 'max' }), async (batches) => {
        const ofRedis = newStore(open.client)
        const ofMemory = new MemoryIdempotencyStore({ logger: false })
        const held: { readonly redis: Claim; readonly memory: Claim }[] = []
        for (const { kind, items } of batches) {
          if (kind === 'claim') {
            const [byRedis, byMemory] = await Promise.all([
              Promise.all(items.map(({ request }) => ofRedis.claim(request))),
              Promise.all(items.map(async ({ request }) => ofMemory.claim(request))),
            ])
            expect(byRedis.map(({ state }) => state)).toEqual(byMemory.map(({ state }) => state))
            byRedis.forEach((result, nth) => {
              const other = byMemory[nth]!
              if (result.state !== 'claimed' || other.state !== 'claimed') return
              expect(result.claim.attempt).toBe(other.claim.attempt)
              held.push({ redis: result.claim, memory: other.claim })
            })
          } else if (held.length > 0) {
            const ends = [...new Set(items.map(({ nth }) => held[nth % held.length]!))]
            const byRedis = await Promise.all(ends.map(async ({ redis }) => redis[kind]()))
            expect(byRedis).toEqual(await Promise.all(ends.map(async ({ memory }) => memory[kind]())))
          }
        }
      }),
      { numRuns: randomRuns(100) },
    )
  }, 60_000)

  it('all succeed when the server has forgotten the scripts', async () => {
    const held = await claims(requests(20))
    await server.command('SCRIPT', 'FLUSH')
    expect(new Set(await complete(held))).toEqual(new Set([true]))
  })

  it('have the same results if the client sends the command twice', async () => {
    const twice = newStore({
      sendCommand: async (args) => {
        await open.client.sendCommand(args)
        return open.client.sendCommand(args)
      },
    })
    const [one, other] = requests(2) as [ClaimRequest, ClaimRequest]
    const replay = { ...one, key: claimRequest().key }
    const results = await Promise.all([one, one, other, replay].map((request) => twice.claim(request)))
    expect(results).toMatchObject([
      { state: 'claimed', claim: { attempt: 1 } },
      { state: 'in-progress' },
      { state: 'claimed', claim: { attempt: 1 } },
      { state: 'replay' },
    ])
  })

  it('fail alone if another program wrote to a key of one of them', async () => {
    const [first, spoilt, last] = requests(3) as [ClaimRequest, ClaimRequest, ClaimRequest]
    await claimOf(store, spoilt)
    const [key] = (await server.command('KEYS', `{test-${prefixes - 1}}:c:*`)) as [string]
    const held = await claims([first, last])
    await server.command('SET', key, 'text')
    expect(
      await errors([claimRequest(), spoilt, claimRequest()].map((request) => stateOf(store, request))),
    ).toEqual(['claimed', 'WRONGTYPE', 'claimed'])
    expect(await complete(held)).toEqual([true, true])
  })

  it('are each refused or recorded while the memory of the server is full', async () => {
    const known = requests(2)
    const held = await claims(known)
    const [lost, ...others] = await claims(requests(20))
    await lost!.release()
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    const refused = await errors([...known, ...requests(3)].map((request) => stateOf(store, request)))
    const ended = await complete([lost!, ...others])
    await release(held)
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
    expect(refused).toEqual(['in-progress', 'in-progress', 'OOM', 'OOM', 'OOM'])
    expect(ended).toEqual([false, ...others.map(() => true)])
    expect(await states(known)).toEqual(['claimed', 'claimed'])
  })

  it('all fail if the command fails', async () => {
    const failing = newStore({ sendCommand: async () => Promise.reject(new Error('LOADING a test')) })
    expect(await errors(requests(3).map((request) => stateOf(failing, request)))).toEqual([
      'LOADING',
      'LOADING',
      'LOADING',
    ])
  })
})

interface Batch {
  readonly kind: 'claim' | 'complete' | 'release'
  readonly items: readonly { readonly request: ClaimRequest; readonly nth: number }[]
}

const few = (what: string, count: number) =>
  fc.constantFrom(...Array.from({ length: count }, (_, i) => digest(`${what} ${i}`)))

const batch: fc.Arbitrary<Batch> = fc.record({
  kind: fc.constantFrom<Batch['kind'][]>('claim', 'claim', 'complete', 'release'),
  items: fc.array(
    fc.record({
      request: fc.record({
        key: few('key', 4),
        bodyHash: few('body', 2),
        signature: few('signature', 6),
        leaseMs: fc.constant(60_000),
      }),
      nth: fc.nat(20),
    }),
    { minLength: 1, maxLength: 8 },
  ),
})
