import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { CLAIM, COMPLETE } from '../../../src/idempotency/redis/scripts.js'
import type { Claim } from '../../../src/index.js'
import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { claimOf, claimRequest, completed, digest, stateOf } from '../../support/claim-requests.js'
import { deferred } from '../../support/deferred.js'
import { randomRuns } from '../../support/random-runs.js'
import { CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'
import { StoreTime } from '../../support/redis-time.js'
import { genuine, runReceiver } from '../../support/running-receiver.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { until } from '../../support/until.js'

describeWithRedis('a connection that fails after a completion was recorded, before its reply', () => {
  let server: RedisServer
  let proxy: TcpProxy
  beforeAll(async () => {
    server = await RedisServer.start(['--appendonly', 'no'])
    proxy = await TcpProxy.start(server.port)
  })
  afterAll(async () => {
    await proxy.stop()
    await server.stop()
  })

  /** Drops the next reply to COMPLETE. Returns how often that has happened. */
  const dropReply = () => {
    let dropped = 0
    proxy.cutBefore = (bytes) => {
      if (dropped > 0 || !bytes.includes('completed')) return false
      dropped++
      return true
    }
    return () => dropped
  }

  describe('with ioredis, which sends it again', () => {
    let store: RedisIdempotencyStore
    let open: Awaited<ReturnType<typeof CLIENTS.ioredis>>
    beforeAll(async () => {
      open = await CLIENTS.ioredis(`redis://127.0.0.1:${proxy.port}`)
      store = new RedisIdempotencyStore({ client: open.client, logger: false })
    })
    afterAll(() => open.close())

    it('has completed each callback of the call', async () => {
      const requests = Array.from({ length: 20 }, () => claimRequest())
      const claims = await Promise.all(requests.map((request) => claimOf(store, request)))
      const dropped = dropReply()
      const results = await Promise.all(claims.map(async (claim) => claim.complete()))
      expect(dropped()).toBe(1)
      expect(new Set(results)).toEqual(new Set([true]))
      expect(await stateOf(store, requests[0]!)).toBe('completed')
    })

    it('is answered 200 by the receiver', async () => {
      const { send, outcomes, handled } = await runReceiver({ store })
      const dropped = dropReply()
      expect((await send(genuine())).status).toBe(200)
      expect(dropped()).toBe(1)
      expect(outcomes).toMatchObject([{ code: 'HANDLED' }])
      expect(handled).toHaveLength(1)
    })
  })

  describe('with node-redis, which rejects', () => {
    let store: RedisIdempotencyStore
    let open: OpenClient<NodeRedisClient>
    beforeAll(async () => {
      open = await CLIENTS['node-redis'](`redis://127.0.0.1:${proxy.port}`)
      store = new RedisIdempotencyStore({ client: open.client, logger: false })
    })
    afterAll(() => open.close())

    it('has completed the callback for a caller that tries again', async () => {
      const claim = await claimOf(store, claimRequest())
      const dropped = dropReply()
      await expect(claim.complete()).rejects.toThrow()
      expect(dropped()).toBe(1)
      expect(await claim.complete()).toBe(true)
    })

    it('is answered 503 by the receiver, and the repeat 200 without another run of the handler', async () => {
      const { send, handled } = await runReceiver({ store })
      const callback = genuine()
      const dropped = dropReply()
      expect((await send(callback)).status).toBe(503)
      expect(dropped()).toBe(1)
      expect((await send(callback)).status).toBe(200)
      expect(handled).toHaveLength(1)
    })
  })
})

describeWithRedis('an end of a claim that reaches the server late, twice, or both', () => {
  let server: RedisServer
  let open: OpenClient<NodeRedisClient>
  beforeAll(async () => {
    server = await RedisServer.start(['--appendonly', 'no'])
    open = await CLIENTS['node-redis'](server.url)
    const store = new RedisIdempotencyStore({ client: open.client, logger: false })
    // From here on the server has the scripts.
    await completed(store, claimRequest())
    await (await claimOf(store, claimRequest())).release()
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })

  it('is no success if the server lost the claim and another body of the key was completed', async () => {
    const store = new RedisIdempotencyStore({ client: open.client, logger: false })
    const request = claimRequest()
    const claim = await claimOf(store, request)
    await server.command('FLUSHALL')
    await completed(store, { ...claimRequest(), key: request.key })
    expect(await claim.complete()).toBe(false)
  })

  it('is a success for the claim that completed its key until its lease ends, and for no other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
        const { store, time, network } = unreliableStore(open.client)
        const claims: Held[] = []
        const complete = async (held: Held) => {
          held.completing++
          const isSuccess = await held.claim.complete()
          held.completing--
          const hasCompleted = network.completed.has(held.token)
          if (isSuccess) expect(hasCompleted).toBe(true)
          else if (time.passedMs < held.endsAt && !held.isReleased) expect(hasCompleted).toBe(false)
        }
        const release = async (held: Held) => {
          held.isReleased = true
          await held.claim.release()
        }
        const late: Promise<void>[] = []
        const reconnect = async () => {
          network.reconnect()
          await Promise.all(late.splice(0))
        }
        for (const { kind, request, nth, ms, arrives } of steps) {
          const held = claims[nth % Math.max(claims.length, 1)]
          if (kind === 'pass time') await time.pass(ms)
          else if (kind === 'reconnect') await reconnect()
          else if (kind === 'claim') {
            network.arrives = ['now']
            const result = await store.claim(request)
            if (result.state !== 'claimed') continue
            const endsAt = time.passedMs + request.leaseMs
            claims.push({
              claim: result.claim,
              token: network.claimed,
              endsAt,
              completing: 0,
              isReleased: false,
            })
          } else if (held && (kind === 'complete' || held.completing === 0)) {
            network.arrives = arrives
            const end = kind === 'complete' ? complete(held) : release(held)
            if (!arrives.includes('later')) await end
            else {
              late.push(end)
              const before = network.waiting()
              let hasEnded = false
              void end.finally(() => (hasEnded = true))
              await until(() => hasEnded || network.waiting() > before)
            }
          }
        }
        await reconnect()
      }),
      { numRuns: randomRuns(400) },
    )
  }, 60_000)
})

const RETENTION = 60_000

/** When each run of a script that a client asks for reaches the server. The client gets the reply to the last one. */
type Arrivals = readonly ('now' | 'later')[]

interface Held {
  readonly claim: Claim
  readonly token: string
  readonly endsAt: number
  /** How many completions are under way. Nobody releases a claim meanwhile. */
  completing: number
  isReleased: boolean
}

function unreliableStore(client: NodeRedisClient) {
  const prefix = `test-${randomUUID()}`
  const time = new StoreTime(client, prefix)
  const { sendCommand } = time.of(client) as NodeRedisClient
  const completed = new Set<string>()
  let waiting: (() => void)[] = []
  const network = {
    arrives: ['now'] as Arrivals,
    /** The token of the latest claim. */
    claimed: '',
    /** The tokens that a completion has found in the record of their claim. */
    completed,
    waiting: () => waiting.length,
    reconnect() {
      for (const resolve of waiting) resolve()
      waiting = []
    },
  }
  const run = async (args: string[]) => {
    const [, script, , claimKey] = args
    const token = args.at(-1)!.slice(22, 58)
    const isCompletion = script === COMPLETE.sha1
    const [holder, reply] = await Promise.all([
      isCompletion ? client.sendCommand(['HGET', claimKey!, 'token']) : undefined,
      sendCommand(args),
    ])
    if (isCompletion && holder === token) completed.add(token)
    if (script === CLAIM.sha1) network.claimed = token
    return reply
  }
  const unreliable: NodeRedisClient = {
    async sendCommand(args) {
      if (args[0] !== 'EVALSHA') return client.sendCommand(args)
      let reply: unknown
      for (const arrival of network.arrives) {
        if (arrival === 'later') {
          const reconnected = deferred()
          waiting.push(reconnected.resolve)
          await reconnected.promise
        }
        reply = await run(args)
      }
      return reply
    },
  }
  const store = new RedisIdempotencyStore({
    client: unreliable,
    prefix,
    retentionMs: RETENTION,
    logger: false,
  })
  return { store, time, network }
}

const few = (what: string, count: number) =>
  fc.constantFrom(...Array.from({ length: count }, (_, i) => digest(`${what} ${i}`)))

const step = fc.record({
  kind: fc.constantFrom('claim', 'claim', 'complete', 'complete', 'release', 'pass time', 'reconnect'),
  request: fc.record({
    key: few('key', 2),
    bodyHash: few('body', 2),
    signature: few('signature', 4),
    leaseMs: fc.constantFrom(10_000, 30_000),
  }),
  nth: fc.nat(20),
  // Every sum of these that is below a lease is so by four seconds, as time also passes on the server.
  ms: fc.constantFrom(5_100, 15_300, 30_600),
  arrives: fc.constantFrom<Arrivals[]>(['now'], ['now', 'now'], ['later'], ['now', 'later']),
})
