import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { CountersignError } from '../../src/index.js'
import { redisStore } from '../../src/cli/config/redis-store.js'
import { silentLogger } from '../../src/logging/logger.js'
import { freePort } from '../support/server-program.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { configModule, deliver } from './configured.js'
import { countersign, Sandbox } from './program.js'

const PASSWORD = 'p%40ss-w0rd-of-redis'
const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const STORE = "store: { redis: { url: { env: 'REDIS_URL' }, prefix: 'cli' } },"
/** By default 5 seconds, in which a busy machine may not load the client and connect it. */
const PATIENT = 'dependencyTimeoutMs: 60_000,'
const configured = (options = STORE) =>
  sandbox.directory({
    'countersign.config.mjs': configModule("logger.info({}, 'handling')", `${options} ${PATIENT}`),
  })

describeWithRedis('serve with store: { redis }', () => {
  let server: RedisServer
  let env: { REDIS_URL: string }
  beforeEach(async () => {
    server = await RedisServer.start(['--appendonly', 'no'])
    await server.command('ACL', 'SETUSER', 'app', 'on', `>${decodeURIComponent(PASSWORD)}`, '~*', '+@all')
    env = { REDIS_URL: server.url.replace('//', `//app:${PASSWORD}@`) }
  })
  afterEach(() => server.stop())

  it('recognises in one process what another one has handled, and says the password nowhere', async () => {
    const cwd = await configured()
    const [one, other] = [sandbox.serve([], { cwd, env }), sandbox.serve([], { cwd, env })]
    const parts = {
      idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
      timestamp: new Date(),
      body: '{"Id":"1"}',
    }
    expect(await deliver(await one.port(), parts)).toEqual({ status: 200 })
    expect(await deliver(await other.port(), parts)).toEqual({ status: 200 })
    expect(await other.line(({ code }) => code === 'DUPLICATE')).toBeDefined()
    for (const { lines } of [one, other])
      expect(lines.filter(({ code }) => code === 'WARN_NOT_DURABLE')).toHaveLength(1)
    one.signal('SIGTERM')
    expect(await one.exit).toBe(0)
    expect(await server.connections('app')).toBe(1)
    expect(one.output + other.output).not.toMatch(/p(%40|@)ss-w0rd/)
  })

  it('says with --check which server it is, and its warnings', async () => {
    const ran = await countersign(['serve', '--check', '--port', '0'], { cwd: await configured(), env })
    expect(ran.code).toBe(0)
    expect(ran.stdout).toMatch(/idempotency store: the Redis server 127\.0\.0\.1:\d+, version \d+\./)
    expect(ran.stdout).toContain('appendonly is no')
    const json = await countersign(['serve', '--check', '--json', '--port', '0'], {
      cwd: await configured(),
      env,
    })
    expect(JSON.parse(json.stdout)).toMatchObject({ idempotencyStore: 'redis', valid: true })
    expect(ran.stdout + json.stdout).not.toMatch(/p(%40|@)ss-w0rd/)
  })

  it.each([[['--check']], [[]]])(
    'fails with 1 where the server refuses the password: serve %j',
    async (flags) => {
      const wrong = { REDIS_URL: env.REDIS_URL.replace('w0rd', 'word') }
      const ran = await countersign(['serve', '--port', '0', ...flags], {
        cwd: await configured(),
        env: wrong,
      })
      expect(ran.code).toBe(1)
      expect(ran.stderr).toMatch(/WRONGPASS [^.]+\. Start it/)
      expect(ran.stdout + ran.stderr).not.toMatch(/p(%40|@)ss-word/)
    },
  )
})

describe('store: { redis }', () => {
  it('fails with 1 where nothing listens', async () => {
    const env = { REDIS_URL: `redis://:${PASSWORD}@127.0.0.1:${await freePort()}` }
    const ran = await countersign(['serve', '--port', '0'], { cwd: await configured(), env })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toMatch(/the Redis server 127\.0\.0\.1:\d+ cannot be used: .*ECONNREFUSED/)
    expect(ran.stdout + ran.stderr).not.toContain('ss-w0rd')
  })

  it.each([
    [STORE, {}, 'store.redis.url: the environment variable REDIS_URL is not set.'],
    [STORE, { REDIS_URL: '' }, 'store.redis.url: the environment variable REDIS_URL is empty.'],
    ['store: { redis: { url: {} } },', {}, 'store.redis.url: write the URL, { "env": "NAME" } or'],
    [STORE, { REDIS_URL: `http://:${PASSWORD}@127.0.0.1` }, 'url is not a URL of a Redis server'],
    ['store: { redis: {} },', {}, 'url is undefined'],
    ["store: { redis: { url: 'redis://127.0.0.1', prefix: '{a}' } },", {}, 'prefix is "{a}"'],
    ["store: { redis: { url: 'redis://127.0.0.1', retention: 1 } },", {}, 'has no option "retention"'],
    ["store: { redis: { url: 'redis://127.0.0.1', retentionMs: 1 } },", {}, 'raise its retentionMs'],
  ])('is refused: %s %j', async (options, env, message) => {
    const ran = await countersign(['serve', '--check'], { cwd: await configured(options), env })
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain(message)
    expect(ran.stderr).not.toContain('ss-w0rd')
  })

  it('names a server that accepts connections and does not answer', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const redis = await import('redis')
    const store = redisStore(
      { url: new URL(`redis://127.0.0.1:${port}`) },
      silentLogger,
      100,
      async () => redis,
    )
    await expect(store.open()).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `the Redis server 127.0.0.1:${port} cannot be used: its answer took longer than 100 ms. Start it, or correct store.redis.url.`,
    })
    await store.close()
    server.close()
  })

  it('names the package to install where it is missing', async () => {
    const load = () => Promise.reject(new Error("Cannot find package 'redis'"))
    const store = redisStore({ url: new URL('redis://127.0.0.1') }, silentLogger, 60_000, load)
    const error = await store.open().catch((thrown: unknown) => thrown as CountersignError)
    expect(error).toMatchObject({ code: 'ERR_CONFIG_INVALID' })
    expect((error as Error).message).toContain('npm install redis')
  })
})
