import type { NodeRedisClient } from '../../../src/idempotency/redis/redis-client.js'
import { RedisIdempotencyStore } from '../../../src/redis.js'
import { claimRequest } from '../../support/claim-requests.js'
import { collectedLog } from '../../support/collected-log.js'
import { CLIENT_NAMES, CLIENTS, type OpenClient } from '../../support/redis-clients.js'
import { describeWithRedis, RedisServer } from '../../support/redis-server.js'
import { until } from '../../support/until.js'

const DURABLE = { maxmemory: '0', 'maxmemory-policy': 'noeviction', appendonly: 'yes', appendfsync: 'always' }

describeWithRedis('the check of the server', () => {
  let server: RedisServer
  let admin: OpenClient<NodeRedisClient>
  beforeAll(async () => {
    server = await RedisServer.start()
    admin = await CLIENTS['node-redis'](server.url)
  })
  afterAll(async () => {
    await admin.close()
    await server.stop()
  })
  const configure = async (settings: Partial<typeof DURABLE>) => {
    for (const [name, value] of Object.entries({ ...DURABLE, ...settings }))
      await admin.client.sendCommand(['CONFIG', 'SET', name, value])
  }
  const linesOf = async (client: NodeRedisClient) => {
    const logger = collectedLog()
    await new RedisIdempotencyStore({ client, logger }).open()
    return logger.lines
  }

  describe.each([
    ['evicts', { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' }, 'maxmemory-policy is allkeys-lru'],
    ['has no append-only file', { appendonly: 'no' }, 'appendonly is no'],
    ['syncs every second', { appendfsync: 'everysec' }, 'appendfsync is everysec'],
  ])('warns when it %s', (_, settings, message) => {
    it.each(CLIENT_NAMES)('with %s', async (name) => {
      await configure(settings)
      const logger = collectedLog()
      const open = await CLIENTS[name](server.url)
      await new RedisIdempotencyStore({ client: open.client, logger }).open()
      await open.close()
      expect(logger.lines).toHaveLength(1)
      expect(logger.lines[0]).toMatchObject({
        level: 'warn',
        fields: { code: 'WARN_NOT_DURABLE' },
        message: expect.stringContaining(message),
      })
    })
  })

  it.each([
    ['nothing can be forgotten', {}],
    ['it would evict but has no limit', { 'maxmemory-policy': 'allkeys-lru' }],
    ['it has a limit but does not evict', { maxmemory: '100mb' }],
  ])('says nothing when %s', async (_, settings) => {
    await configure(settings)
    expect(await linesOf(admin.client)).toEqual([])
  })

  it('names what it could not find out, in one line', async () => {
    await configure({})
    await admin.client.sendCommand([
      'ACL',
      'SETUSER',
      'nosy',
      'on',
      '>password',
      '~*',
      '+@all',
      '-info',
      '-config',
    ])
    const restricted = await CLIENTS['node-redis'](server.url.replace('//', '//nosy:password@'))
    const lines = await linesOf(restricted.client)
    await restricted.close()
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      level: 'info',
      fields: { unknown: ['maxmemory-policy', 'appendonly', 'appendfsync'] },
    })
  })

  it('is made once, after the first claim when the store was not opened', async () => {
    await configure({ appendonly: 'no' })
    const logger = collectedLog()
    const store = new RedisIdempotencyStore({ client: admin.client, logger })
    await store.claim(claimRequest())
    await until(() => logger.lines.length > 0)
    await store.claim(claimRequest())
    await store.open()
    expect(logger.lines).toHaveLength(1)
  })

  it('rejects when the server is gone, and can be repeated', async () => {
    let isGone = true
    const sendCommand = (args: string[]) =>
      isGone ? Promise.reject(new Error('socket closed')) : admin.client.sendCommand(args)
    const store = new RedisIdempotencyStore({ client: { sendCommand }, logger: false })
    await expect(store.open()).rejects.toThrow('socket closed')
    isGone = false
    await expect(store.open()).resolves.toBeUndefined()
  })
})
