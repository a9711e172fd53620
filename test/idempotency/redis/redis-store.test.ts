import { createClient, createClientPool, RESP_TYPES } from 'redis'
import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from '../../../src/redis.js'
import { claimOf, claimRequest, completed, stateOf } from '../../support/claim-requests.js'
import { CLIENT_NAMES, CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

const nobody: NodeRedisClient = { sendCommand: async () => 'nothing' }

describe('the options of RedisIdempotencyStore', () => {
  it('have defaults', () => {
    expect(new RedisIdempotencyStore({ client: nobody }).retentionMs).toBe(48 * 60 * 60 * 1000)
  })

  it.each([
    [{}, 'client is undefined'],
    [{ client: 'redis://:secret@127.0.0.1' }, 'client is a text of'],
    [{ client: 'redis://:secret@cache' }, 'client is a text of 21 characters:'],
    [{ client: {} }, 'client is of type object'],
    [{ client: nobody, prefix: '' }, 'prefix is ""'],
    [{ client: nobody, prefix: '{a}' }, 'prefix is "{a}"'],
    [{ client: nobody, prefix: 5 }, 'prefix is 5'],
    [{ client: nobody, retentionMs: 0 }, 'retentionMs is 0'],
    [{ client: nobody, logger: {} }, 'logger is of type object'],
  ])('refuse %j', (options, message) => {
    const create = () => new RedisIdempotencyStore(options as unknown as RedisIdempotencyStoreOptions)
    expect(create).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
    expect(create).toThrow(message)
  })

  it('refuse what is not known', () => {
    const options = { client: nobody, retention: 5 } as RedisIdempotencyStoreOptions
    const unknown = expect.objectContaining({ code: 'ERR_OPTION_UNKNOWN' })
    expect(() => new RedisIdempotencyStore(options)).toThrow(unknown)
  })
})

describe('what is not the reply of a script', () => {
  it.each([
    ['OK'],
    ['claimed'],
    ['claimed 1'],
    ['claimed 0x1 5'],
    ['claimed 1 5\n'],
    ['claimed 1 -5'],
    [''],
    [1],
    [null],
    [undefined],
    [['claimed 1 5']],
    [{}],
  ])('is an error and no claim: %j', async (reply) => {
    const store = new RedisIdempotencyStore({ client: { sendCommand: async () => reply }, logger: false })
    await expect(store.claim(claimRequest())).rejects.toThrow(TypeError)
  })

  it('is an error and no completion', async () => {
    const replies = ['claimed 1 5', 'ERR', 'OK', 'OK', 'OK', 'released']
    const client = { sendCommand: async ([, , , key]: string[]) => (key ? replies.shift() : undefined) }
    const store = new RedisIdempotencyStore({ client, logger: false })
    const claim = await claimOf(store, claimRequest())
    await expect(claim.complete()).rejects.toThrow('Redis replied "ERR"')
  })
})

it.each([
  ['a body hash that is too short', { bodyHash: 'AAAA' }],
  ['a signature in hex', { signature: 'ab'.repeat(22) }],
  ['a lease of nothing', { leaseMs: 0 }],
  ['a lease of NaN', { leaseMs: NaN }],
])('rejects a claim with %s, and sends nothing', async (_, parts) => {
  const sendCommand = jest.fn()
  const store = new RedisIdempotencyStore({ client: { sendCommand } })
  await expect(store.claim(claimRequest(parts))).rejects.toThrow(TypeError)
  expect(sendCommand).not.toHaveBeenCalled()
})

describeWithRedis.each(CLIENT_NAMES)('RedisIdempotencyStore with %s', (name) => {
  let server: RedisServer
  let open: OpenClient<RedisIdempotencyStoreOptions['client']>
  let store: RedisIdempotencyStore
  beforeAll(async () => {
    server = await RedisServer.start()
    open = await CLIENTS[name](server.url)
    store = new RedisIdempotencyStore({ client: open.client, logger: false })
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })
  const onServer = async (...args: string[]) => {
    const client = await createClient({ url: server.url }).connect()
    const reply = await client.sendCommand<unknown>(args)
    client.destroy()
    return reply
  }

  it('goes on when the server has forgotten the scripts', async () => {
    const request = claimRequest()
    await onServer('SCRIPT', 'FLUSH')
    const claim = await claimOf(store, request)
    await onServer('SCRIPT', 'FLUSH')
    expect(await claim.complete()).toBe(true)
    expect(await stateOf(store, request)).toBe('completed')
    await onServer('SCRIPT', 'FLUSH')
    const released = await claimOf(store, claimRequest())
    await onServer('SCRIPT', 'FLUSH')
    await expect(released.release()).resolves.toBeUndefined()
  })

  it('knows what it has completed and claimed after the server was killed', async () => {
    const done = await Promise.all(Array.from({ length: 200 }, () => completed(store, claimRequest())))
    const held = claimRequest()
    const claim = await claimOf(store, held)
    await server.kill()
    await server.restart()
    const states = await Promise.all(done.map((request) => stateOf(store, request)))
    expect(new Set(states)).toEqual(new Set(['completed']))
    expect(await stateOf(store, held)).toBe('in-progress')
    expect(await claim.complete()).toBe(true)
  })

  it('completes what was claimed before the memory of the server was full', async () => {
    const request = claimRequest()
    const claim = await claimOf(store, request)
    await onServer('CONFIG', 'SET', 'maxmemory', '1')
    await expect(store.claim(claimRequest())).rejects.toThrow(/^OOM .*: .*raise its maxmemory/)
    expect(await claim.complete()).toBe(true)
    await onServer('CONFIG', 'SET', 'maxmemory', '0')
    expect(await stateOf(store, request)).toBe('completed')
  })

  it('says true again to whoever completes twice', async () => {
    const claim = await claimOf(store, claimRequest())
    await claim.complete()
    expect(await claim.complete()).toBe(true)
  })

  it('keeps stores with different prefixes apart', async () => {
    const other = new RedisIdempotencyStore({ client: open.client, prefix: 'other', logger: false })
    const request = await completed(store, claimRequest())
    expect(await stateOf(other, request)).toBe('claimed')
  })

  it('leaves no key in Redis without an expiry', async () => {
    await onServer('FLUSHALL')
    await completed(store, claimRequest())
    await (await claimOf(store, claimRequest())).release()
    const held = claimRequest()
    await claimOf(store, held)
    await stateOf(store, { ...held, signature: claimRequest().signature })
    const keys = (await onServer('KEYS', '*')) as string[]
    expect(keys).toHaveLength(6)
    for (const key of keys) expect(await onServer('PTTL', key)).toBeGreaterThan(0)
  })
})

describeWithRedis('RedisIdempotencyStore', () => {
  let server: RedisServer
  let open: OpenClient<NodeRedisClient>
  beforeAll(async () => {
    server = await RedisServer.start()
    open = await CLIENTS['node-redis'](server.url)
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })

  it('takes a command that the client has sent twice for one claim', async () => {
    const twice: NodeRedisClient = {
      sendCommand: async (args) => {
        await open.client.sendCommand(args)
        return open.client.sendCommand(args)
      },
    }
    const store = new RedisIdempotencyStore({ client: twice, logger: false })
    const request = claimRequest()
    const claim = await claimOf(store, request)
    expect(claim.attempt).toBe(1)
    expect(await stateOf(store, request)).toBe('in-progress')
  })

  it.each([2, 3] as const)('takes a client that returns bytes, with RESP %d', async (RESP) => {
    const plain = await createClient({ url: server.url, RESP }).connect()
    const client = plain.withTypeMapping({
      [RESP_TYPES.BLOB_STRING]: Buffer,
      [RESP_TYPES.VERBATIM_STRING]: Buffer,
    })
    const store = new RedisIdempotencyStore({ client, logger: false })
    await store.open()
    const request = await completed(store, claimRequest())
    expect(await stateOf(store, request)).toBe('completed')
    plain.destroy()
  })

  it('takes a pool', async () => {
    const pool = createClientPool({ url: server.url })
    await pool.connect()
    const store = new RedisIdempotencyStore({ client: pool, logger: false })
    const request = await completed(store, claimRequest())
    expect(await stateOf(store, request)).toBe('completed')
    await pool.close()
  })

  it('works with a user that may do no more than the documentation says', async () => {
    const rules = '~{countersign}:* +evalsha +eval +get +set +del +hmget +hset +hdel +pexpire +pexpireat'
    const user = ['countersign', 'on', '>password', ...rules.split(' '), '+time', '+info', '+config|get']
    await open.client.sendCommand(['ACL', 'SETUSER', ...user])
    const url = server.url.replace('//', '//countersign:password@')
    const restricted = await CLIENTS.ioredis(url)
    const store = new RedisIdempotencyStore({ client: restricted.client, logger: false })
    await store.open()
    const request = claimRequest()
    await (await claimOf(store, request)).release()
    const claim = await claimOf(store, request)
    await stateOf(store, { ...request, signature: claimRequest().signature })
    await claim.complete()
    expect(await stateOf(store, request)).toBe('completed')
    await expect(restricted.client.call('KEYS', '*')).rejects.toThrow('NOPERM')
    await restricted.close()
  })
})
