import { createReceiver, type Handler } from '../../src/index.js'
import { parseServerOptions, startReceiverServer, type ReceiverServerOptions } from '../../src/http/server.js'
import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  jest.useRealTimers()
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function start(
  options: ReceiverServerOptions = {},
  { bodyTimeoutMs = 10_000, handler = () => {} }: { bodyTimeoutMs?: number; handler?: Handler } = {},
) {
  const receiver = createReceiver<object>({ subscriptions: [subscription], bodyTimeoutMs }).onAny(handler)
  const server = await startReceiverServer(receiver, bodyTimeoutMs, { port: 0, ...options })
  open.push(server)
  return { receiver, server, port: server.address.port }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

it('by default nobody beyond this machine can reach it, and a proxy gives up a connection before it does', () => {
  expect(parseServerOptions({})).toEqual({
    host: '127.0.0.1',
    port: 3000,
    headersTimeoutMs: 10_000,
    keepAliveTimeoutMs: 65_000,
    maxConnections: 1_000,
  })
})

it('tells how long it keeps an idle connection', async () => {
  const { port } = await start({ keepAliveTimeoutMs: 7_000 })
  const { socket, received, receives } = await connection(port)
  socket.write(genuine().toHttp())
  await receives(/\r\n\r\n/)
  expect(received()).toMatch(/\r\nKeep-Alive: timeout=7\r\n/)
})

it('closes a connection beyond maxConnections at once', async () => {
  const { port } = await start({ maxConnections: 1 })
  const first = await connection(port)
  first.socket.write(get('/healthz'))
  await first.receives(/200 OK/)
  const second = await connection(port)
  await second.closed
  expect(second.received()).toBe('')
})

it('gives up a sender of something else that never comes to its end', async () => {
  const { port } = await start({ headersTimeoutMs: 50 }, { bodyTimeoutMs: 50 })
  const { socket, received, closed } = await connection(port)
  socket.write(get('/healthz').replace('\r\n\r\n', '\r\nContent-Length: 5\r\n\r\n'))
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 200 /)
})

it('tells health and readiness, no name, and 405 to all else', async () => {
  const { receiver, port } = await start()
  const ask = async (path: string) => {
    const { socket, received, receives } = await connection(port)
    socket.write(get(path))
    await receives(/\r\n\r\n.*}/)
    expect(received()).not.toMatch(/x-powered-by/i)
    const [head, body] = received().split('\r\n\r\n')
    return [Number(head!.slice(9, 12)), JSON.parse(body!).status]
  }
  expect(await ask('/healthz')).toEqual([200, 'ok'])
  expect(await ask('/readyz')).toEqual([200, 'ready'])
  expect(await ask('/')).toEqual([405, 405])
  await receiver.stop()
  expect(await ask('/healthz')).toEqual([200, 'ok'])
  expect(await ask('/readyz')).toEqual([503, 'not ready'])
})

describe('close()', () => {
  it('is safe to call twice', async () => {
    const { server } = await start()
    const first = server.close()
    expect(server.close()).toBe(first)
    await first
  })

  it('cuts nobody off whose handler runs, and then everybody who sends nothing whole', async () => {
    const finish = deferred()
    let running = false
    const { server, port } = await start({}, { handler: () => ((running = true), finish.promise) })
    const sender = await connection(port)
    sender.socket.write(genuine().toHttp())
    await until(() => running)
    const idler = await connection(port)
    idler.socket.write('POST / HTTP/1.1\r\nHost: a\r\n\r\nPOST /')
    await idler.receives(/401/)

    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'performance'] })
    const closing = server.close()
    jest.advanceTimersByTime(5_000)
    expect(sender.socket.closed).toBe(false)
    finish.resolve()
    await sender.receives(/200 OK/)
    let closed = false
    void closing.then(() => (closed = true))
    await until(() => {
      jest.advanceTimersByTime(50)
      return closed
    })
    expect(jest.getTimerCount()).toBe(0)
  })
})
