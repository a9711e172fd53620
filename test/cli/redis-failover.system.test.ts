import { redisStore } from '../../src/cli/config/redis-store.js'
import { silentLogger } from '../../src/logging/logger.js'
import { claimOf, claimRequest, completed } from '../support/claim-requests.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { describeWithRedis, RedisServer } from '../support/redis-server.js'
import { TcpProxy } from '../support/tcp-proxy.js'
import { until } from '../support/until.js'
import { configModule, deliver } from './configured.js'
import { createGate } from './gate.js'
import { countersign, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const STORE = "store: { redis: { url: { env: 'REDIS_URL' } } },"
const PATIENT = 60_000

/** A receiver whose Redis server is behind an address that can lead to its replica. */
async function running(handler = '') {
  const [primary, replica] = [await startServer(), await startServer()]
  await replica.command('REPLICAOF', '127.0.0.1', String(primary.port))
  await until(async () => String(await replica.command('INFO')).includes('master_link_status:up'))
  const address = await TcpProxy.start(primary.port)
  sandbox.after(() => address.stop())
  const options = `${STORE} dependencyTimeoutMs: ${PATIENT},`
  const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule(handler, options) })
  const serving = sandbox.serve([], { cwd, env: { REDIS_URL: `redis://127.0.0.1:${address.port}` } })
  const port = await serving.port()
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  /** The connections to the server that was the primary stay open. The address still leads to it. */
  const demote = async () => {
    await replica.command('REPLICAOF', 'NO', 'ONE')
    await primary.command('REPLICAOF', '127.0.0.1', String(replica.port))
  }
  return { replica, address, serving, port, isReady, demote }
}

async function startServer(): Promise<RedisServer> {
  const server = await RedisServer.start(['--appendonly', 'yes', '--repl-diskless-sync-delay', '0'])
  sandbox.after(() => server.stop())
  return server
}

describeWithRedis('serve with store: { redis }', () => {
  it('finds the new primary after a failover that closed no connection, and is not ready until then', async () => {
    const { replica, address, serving, port, isReady, demote } = await running()
    expect((await deliver(port)).status).toBe(200)
    expect(await isReady()).toBe(true)
    await demote()
    expect((await deliver(port)).status).toBe(503)
    expect(await isReady()).toBe(false)
    address.targetPort = replica.port
    await until(isReady)
    expect((await deliver(port)).status).toBe(200)
    await serving.line(({ level, msg }) => level === 'warn' && /leads to a replica/.test(msg))
    await serving.line(({ msg }) => msg.endsWith(' is back'))
  })

  it('records the end of a handler that ran during the failover', async () => {
    const gate = await createGate(sandbox)
    const { replica, address, port, demote } = await running(`await fetch('${gate.url}')`)
    const parts = {
      idempotencyKey: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
      timestamp: new Date(),
      body: '{"Id":"1"}',
    }
    const delivering = deliver(port, parts)
    await gate.reached
    await until(async () => (await replica.count('*:c:*')) === 1)
    await demote()
    gate.open()
    address.targetPort = replica.port
    expect((await delivering).status).toBe(200)
    expect((await deliver(port, parts)).status).toBe(200)
  })

  it('does not start with a replica', async () => {
    const [primary, replica] = [await startServer(), await startServer()]
    await replica.command('REPLICAOF', '127.0.0.1', String(primary.port))
    const cwd = await sandbox.directory({
      'countersign.config.mjs': configModule('', `${STORE} dependencyTimeoutMs: ${PATIENT},`),
    })
    const ran = await countersign(['serve', '--check', '--port', '0'], {
      cwd,
      env: { REDIS_URL: replica.url },
    })
    expect(ran.code).toBe(1)
    expect(ran.stderr).toMatch(/the Redis server 127\.0\.0\.1:\d+ cannot be used: it is a replica\. /)
  })

  it('connects anew when a connection is silent for dependencyTimeoutMs', async () => {
    const server = await startServer()
    const address = await TcpProxy.start(server.port)
    const redis = await import('redis')
    const url = new URL(`redis://127.0.0.1:${address.port}`)
    const store = redisStore({ url }, silentLogger, PATIENT, async () => redis)
    await store.open()
    const claim = await claimOf(store, claimRequest())
    const pass = fakeTimeouts()
    address.silence()
    const refused = expect(store.claim(claimRequest())).rejects.toThrow()
    const completing = claim.complete()
    await pass(PATIENT)
    await refused
    expect(await completing).toBe(true)
    await until(() => store.isReady)
    await completed(store, claimRequest())
    jest.useRealTimers()
    await store.close()
    await address.stop()
  })
})
