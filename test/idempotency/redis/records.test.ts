import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { claimOf, claimRequest, digest, stateOf } from '../../support/claim-requests.js'
import { CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

// Processes of different versions share a server while they are being replaced. The records are therefore written and read here
// without the scripts.
describeWithRedis('the records in Redis', () => {
  let server: RedisServer
  let open: OpenClient<NodeRedisClient>
  let store: RedisIdempotencyStore
  beforeAll(async () => {
    server = await RedisServer.start(['--appendonly', 'no'])
    open = await CLIENTS['node-redis'](server.url)
    store = new RedisIdempotencyStore({ client: open.client, logger: false })
  })
  afterAll(async () => {
    await open.close()
    await server.stop()
  })
  const command = (...args: string[]) => open.client.sendCommand(args)

  /** A callback, and the texts that stand for its parts in the records. */
  const callback = () => {
    const request = claimRequest()
    const [key, body, signature] = [digest(request.key), request.bodyHash, request.signature].map((text) =>
      text.slice(0, 22),
    ) as [string, string, string]
    const name = (kind: string, id: string) => `{countersign}:${kind}:${id}`
    const [c, k] = [name('c', key), name('k', key)]
    const [h, s] = [name('h', signature), name('s', signature)]
    return { request, key, body, signature, c, k, h, s }
  }

  it('are what they have been: of a claim, of its end, of a completed callback', async () => {
    const { request, key, body, signature, c, k, h, s } = callback()
    const claim = await claimOf(store, request)
    const [token, until, ...others] = (await command(
      'HMGET',
      c,
      'token',
      'until',
      'body',
      'signatures',
      'attempt',
    )) as string[]
    expect(token).toMatch(/^[0-9a-f-]{36}$/)
    expect(others).toEqual([body, signature, '1'])
    expect(await command('GET', h)).toBe(key + until)

    await claim.release()
    const fields = await command('HMGET', c, 'token', 'until', 'body', 'signatures', 'attempt')
    expect(fields).toEqual([null, null, null, null, '1'])
    expect(await command('EXISTS', h)).toBe(0)

    await (await claimOf(store, request)).complete()
    expect(await Promise.all([k, s].map((name) => command('GET', name)))).toEqual([body + signature, key])
    expect(await command('EXISTS', c, h)).toBe(0)
  })

  it('of a claim whose release did not find its holder, while a cluster moved the slot, do not refuse a repeat', async () => {
    const { request, h } = callback()
    const claim = await claimOf(store, request)
    const holder = (await command('GET', h)) as string
    await claim.release()
    await command('SET', h, holder, 'PX', '3600000')
    expect(await stateOf(store, { ...request, key: 'other' })).toBe('replay')
    expect((await claimOf(store, request)).attempt).toBe(2)
  })

  it('of another process are understood', async () => {
    const [running, other, done] = [callback(), callback(), callback()]
    const later = String(Date.now() + 3_600_000)
    const { c, key, body, signature } = running
    const claim = ['token', 'any', 'body', body, 'until', later, 'signatures', signature, 'attempt', '7']
    await command('HSET', c, ...claim)
    await command('SET', running.h, key + later, 'PX', '3600000')
    await command('HSET', other.c, 'attempt', '4')
    await command('SET', done.k, done.body + done.signature, 'PX', '3600000')
    await command('SET', done.s, done.key, 'PX', '3600000')

    const { request } = running
    const replay = { ...running.request, key: 'other' }
    const conflict = { ...done.request, bodyHash: other.request.bodyHash }
    const asked = [request, done.request, replay, conflict]
    const states = await Promise.all(asked.map((one) => stateOf(store, one)))
    expect(states).toEqual(['in-progress', 'completed', 'replay', 'conflict'])
    expect((await claimOf(store, other.request)).attempt).toBe(5)
  })
})
