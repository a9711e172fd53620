import { createClient, createSentinel } from 'redis'
import { RedisIdempotencyStore, type RedisClient } from '../../../src/redis.js'
import { claimOf, claimRequest, stateOf } from '../../support/claim-requests.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'
import { until } from '../../support/until.js'

const replyTo = (args: readonly string[]) => (args[2] === '4' ? 'claimed 1 5' : 'completed')
const isStep = (args: readonly string[]) => args[0] === 'EVALSHA'

/** The clients of the package redis differ in what stands before the command. */
describe.each([
  ['a single client', {}, 0],
  ['a cluster', { masters: [] }, 2],
  ['Sentinel', { getSentinelNode: () => undefined }, 1],
])('%s of the package redis', (_, parts, at) => {
  it('is told to abandon a claim that it cannot send, and to keep its end', async () => {
    const sent: unknown[][] = []
    const sendCommand = async (...given: unknown[]) => {
      const args = given[at] as string[]
      if (!isStep(args)) return ''
      sent.push(given)
      return replyTo(args)
    }
    const client = { ...parts, sendCommand } as unknown as RedisClient
    const store = new RedisIdempotencyStore({ client, logger: false })
    const claim = await claimOf(store, claimRequest())
    await claim.complete()
    expect(sent.map((given) => given.slice(at + 1))).toEqual([
      [{ abortSignal: expect.any(AbortSignal) }],
      [{ timeout: 0 }],
    ])
    // Never a replica, which cannot write.
    if (at > 0) expect(sent.map((given) => given[at - 1])).toEqual([false, false])
    if (at === 2) expect(sent[0]![0]).toMatch(/^\{countersign\}:c:/)
  })
})

describeWithRedis('a client that abandons commands early', () => {
  it('keeps the end of a claim until the connection is back', async () => {
    const server = await RedisServer.start()
    const client = createClient({
      url: server.url,
      socket: { reconnectStrategy: 20 },
      commandOptions: { timeout: 20 },
    })
    client.on('error', () => {})
    await client.connect()
    const store = new RedisIdempotencyStore({ client, logger: false })
    await store.open()
    const claim = await claimOf(store, claimRequest())
    await server.kill()
    await until(() => !client.isReady)
    const completing = claim.complete()
    await expect(store.claim(claimRequest())).rejects.toThrow()
    await server.restart()
    expect(await completing).toBe(true)
    client.destroy()
    await server.stop()
  })
})

describeWithRedis('the end of a claim', () => {
  it('waits until a restarted server has read its data', async () => {
    // 1,000 keys are read in half a second. In between, the server answers.
    const slow = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024']
    const server = await RedisServer.start(slow)
    const client = createClient({ url: server.url, socket: { reconnectStrategy: 20 } })
    client.on('error', () => {})
    try {
      await client.connect()
      const store = new RedisIdempotencyStore({ client, logger: false })
      await store.open()
      const [handled, failed] = [claimRequest(), claimRequest()]
      const [ofHandled, ofFailed] = [await claimOf(store, handled), await claimOf(store, failed)]
      const others = Array.from({ length: 1_000 }, (_, at) => [`other:${at}`, 'value'] as const)
      await client.mSet(Object.fromEntries(others))
      await client.sendCommand(['SAVE'])
      const ping = () => client.ping().catch((error: Error) => error.message.split(' ')[0])
      let restarting: Promise<void>
      let reply: string | undefined
      do {
        await server.kill()
        restarting = server.restart()
        do reply = await ping()
        while (reply !== 'LOADING' && reply !== 'PONG')
        // On a busy machine it may have read them before it was asked.
        if (reply === 'PONG') await restarting
      } while (reply === 'PONG')
      const ends = [() => ofHandled.complete(), () => ofFailed.release()]
      const ending = ends.map(async (end) => end())
      await restarting
      await Promise.all(ending)
      expect(await stateOf(store, handled)).toBe('completed')
      expect(await stateOf(store, failed)).toBe('claimed')
    } finally {
      client.destroy()
      await server.stop()
    }
  })

  it.each([
    'LOADING Redis is loading the dataset in memory',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'CLUSTERDOWN Hash slot not served',
    'Too many Cluster redirections. Last error: ReplyError: MOVED 778 127.0.0.1:7001',
    'NOREPLICAS Not enough good replicas to write.',
  ])('is sent again after %s', async (refusal) => {
    const replies = ['claimed 1 5', new Error(refusal), 'completed']
    const sendCommand = async (args: string[]) => {
      const reply = isStep(args) ? replies.shift() : ''
      if (reply instanceof Error) throw reply
      return reply
    }
    const store = new RedisIdempotencyStore({ client: { sendCommand }, logger: false })
    const claim = await claimOf(store, claimRequest())
    expect(await claim.complete()).toBe(true)
  })

  it('fails if the server still reads its data when the lease is over', async () => {
    const sendCommand = async ([name, , keys]: string[]) => {
      if (name !== 'EVALSHA') return ''
      if (keys === '4') return 'claimed 1 5'
      throw new Error('LOADING Redis is loading the dataset in memory')
    }
    const store = new RedisIdempotencyStore({
      client: { sendCommand },
      logger: false,
    })
    const claim = await claimOf(store, claimRequest({ leaseMs: 10 }))
    await expect(claim.complete()).rejects.toThrow('LOADING')
    await expect(claim.release()).rejects.toThrow('LOADING')
  })
})

it('knows the Sentinel client by what it has', () => {
  const client = createSentinel({ name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] })
  expect('getSentinelNode' in client && !('masters' in client)).toBe(true)
})
