import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { RedisIdempotencyStore, type RedisClient } from '../../../src/redis.js'
import { claimOf, claimRequest, completed } from '../../support/claim-requests.js'
import { CLIENT_NAMES, CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'

describeWithRedis.each(CLIENT_NAMES)('what the server refuses to %s', (name) => {
  let server: RedisServer
  let open: OpenClient<RedisClient>
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
  const unavailable = (message: RegExp) =>
    expect.objectContaining({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringMatching(message),
      cause: expect.anything(),
    })

  it('because another program wrote to a key is an error with a cure', async () => {
    await completed(store, claimRequest())
    const request = claimRequest()
    const claim = await claimOf(store, request)
    for (const key of (await server.command('KEYS', '{countersign}:c:*')) as string[])
      await server.command('SET', key, 'text')
    const error = unavailable(/^WRONGTYPE .*another program .*prefix/)
    await expect(claim.complete()).rejects.toEqual(error)
    await expect(claim.release()).rejects.toEqual(error)
    await expect(store.claim(request)).rejects.toEqual(error)
  })

  it('names no part of what was sent', async () => {
    await server.command('ACL', 'SETUSER', 'limited', 'on', '>password', '~*', '+@all', '-evalsha')
    const limited = await CLIENTS[name](server.url.replace('//', '//limited:password@'))
    const request = claimRequest()
    const claiming = new RedisIdempotencyStore({ client: limited.client, logger: false }).claim(request)
    const error: unknown = await claiming.catch((reason: unknown) => reason)
    await limited.close()
    expect(error).toEqual(unavailable(/^NOPERM /))
    expect(inspect(error, { depth: 10 })).not.toContain(request.signature.slice(0, 22))
  })

  it('because the user may not run a command of a script is an error with a cure', async () => {
    await server.command('ACL', 'SETUSER', 'forgotten', 'on', '>password', '~*', '+@all', '-time')
    const limited = await CLIENTS[name](server.url.replace('//', '//forgotten:password@'))
    const claiming = new RedisIdempotencyStore({ client: limited.client, logger: false }).claim(
      claimRequest(),
    )
    const error: unknown = await claiming.catch((reason: unknown) => reason)
    await limited.close()
    expect(error).toEqual(unavailable(/script.*see "Keys, memory, access"/))
  })

  it('because it has become a replica is an error with a cure, and the end of a claim waits for the primary', async () => {
    const claim = await claimOf(store, claimRequest())
    await server.command('REPLICAOF', '127.0.0.1', '1')
    const completing = claim.complete()
    await expect(store.claim(claimRequest())).rejects.toEqual(
      unavailable(/^READONLY .*connect to the primary/),
    )
    await server.command('REPLICAOF', 'NO', 'ONE')
    expect(await completing).toBe(true)
  })
})

describeWithRedis('a replica', () => {
  it('refuses the command itself, so that a client can look for the primary', async () => {
    const server = await RedisServer.start()
    const refused: string[] = []
    const reconnectOnError = (error: Error) => refused.push(error.message) < 0
    const client = new Redis(server.port, '127.0.0.1', { reconnectOnError })
    const store = new RedisIdempotencyStore({ client, logger: false })
    await completed(store, claimRequest())
    refused.length = 0
    await server.command('REPLICAOF', '127.0.0.1', '1')
    await expect(store.claim(claimRequest())).rejects.toThrow('READONLY')
    expect(refused).toEqual([expect.stringMatching(/^READONLY /)])
    client.disconnect()
    await server.stop()
  })

  it('too few of them are an error with a cure', async () => {
    const server = await RedisServer.start(['--min-replicas-to-write', '1'])
    const open = await CLIENTS['node-redis'](server.url)
    const store = new RedisIdempotencyStore({ client: open.client, logger: false })
    await expect(store.claim(claimRequest())).rejects.toThrow(/^NOREPLICAS .*min-replicas-to-write/)
    await open.close()
    await server.stop()
  })
})

it('every reply that docs/redis.md names has the cure in its error, and no other', async () => {
  const rows = /^\| error .*?\n\n/ms.exec(readFileSync('docs/redis.md', 'utf8'))?.[0] ?? ''
  const documented = [...rows.matchAll(/`([A-Z]{3,})`/g)].map(([, word]) => word!)
  expect(documented).toHaveLength(11)
  for (const word of documented) {
    const sendCommand = async () => Promise.reject(new Error(`${word} for a test.`))
    const store = new RedisIdempotencyStore({ client: { sendCommand }, logger: false })
    await expect(store.claim(claimRequest())).rejects.toThrow(new RegExp(`^${word} for a test: .+`))
  }
})
