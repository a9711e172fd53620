import { createReceiver, type Receiver, type ReceiverRequestListener } from '../../src/index.js'
import { parseServerOptions, startReceiverServer } from '../../src/server/server.js'
import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { get, open, start } from './running-server.js'

it('by default nobody beyond this machine can reach it, and a proxy gives up a connection before it does', () => {
  expect(parseServerOptions({})).toEqual({
    host: '127.0.0.1',
    port: 3000,
    headersTimeoutMs: 10_000,
    keepAliveTimeoutMs: 65_000,
    maxConnections: 1_000,
    shutdownDelayMs: 0,
  })
})

it('stops the receiver when it cannot listen, as its worker has started', async () => {
  const { port } = await start()
  const receiver = createReceiver<object>({ subscriptions: [subscription], logger: false }).onAny(() => {})
  await expect(startReceiverServer(receiver, 10_000, parseServerOptions({ port }))).rejects.toMatchObject({
    code: 'ERR_LISTEN_FAILED',
  })
  await expect(receiver.start()).rejects.toMatchObject({ code: 'ERR_STOPPED' })
})

it('tells how long it keeps an idle connection', async () => {
  const { port } = await start({ keepAliveTimeoutMs: 7_000 })
  const { socket, received, receives } = await connection(port)
  socket.write(genuine().toHttp())
  await receives(/\r\n\r\n/)
  expect(received()).toMatch(/\r\nKeep-Alive: timeout=7\r\n/)
})

describe('a sender that closes its side of the connection after the request', () => {
  it('gets the answer once the handler has finished, and then the connection is closed', async () => {
    const finish = deferred()
    let running = false
    const { port } = await start({}, { handler: () => ((running = true), finish.promise) })
    const { socket, received, closed } = await connection(port)
    socket.end(genuine().toHttp())
    await until(() => running)
    finish.resolve()
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  it('gets all answers of several requests', async () => {
    const { port } = await start({}, { handler: () => new Promise(setImmediate) })
    const { socket, received, closed } = await connection(port)
    socket.end(Buffer.concat([genuine().toHttp(), genuine().toHttp(), Buffer.from(get('/healthz'))]))
    await closed
    expect(received()).toMatch(/200 OK[^]*200 OK[^]*"ok"}$/)
  })

  it('is closed at once if the request is not complete', async () => {
    const { port } = await start()
    const { socket, received, closed } = await connection(port)
    socket.end(genuine().toHttp().subarray(0, -1))
    await closed
    expect(received()).not.toMatch(/^HTTP\/1\.1 200/)
  })
})

it('gives up a sender of something else that never comes to its end', async () => {
  const { port } = await start({ headersTimeoutMs: 400 }, { bodyTimeoutMs: 50 })
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

it('answers a HEAD without a body, and refuses every other method with 405', async () => {
  const { port } = await start()
  const ask = async (method: string, path: string) => {
    const { socket, received, closed } = await connection(port)
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    await closed
    return received()
  }
  expect(await ask('HEAD', '/healthz')).toMatch(/^HTTP\/1\.1 200 [^]*\r\nContent-Length: 15\r\n[^]*\r\n\r\n$/)
  expect(await ask('GET', '/Readyz/?probe=1')).toMatch(/^HTTP\/1\.1 200 [^]*"ready"}$/)
  expect(await ask('GET', 'http://a:80/healthz?probe=1')).toMatch(/^HTTP\/1\.1 200 [^]*"ok"}$/)
  for (const method of ['PUT', 'DELETE', 'OPTIONS'])
    expect(await ask(method, '/healthz')).toMatch(/^HTTP\/1\.1 405 [^]*\r\nAllow: POST\r\n/)
  expect(await ask('POST', '/healthz')).toMatch(/^HTTP\/1\.1 401 /)
})

it('has a chunked body read from its first chunk on, as each chunk that waits takes a Buffer of its own', async () => {
  const receiver = createReceiver<object>({ subscriptions: [subscription], logger: false }).onAny(() => {})
  const isRead: boolean[] = []
  const watched = Object.assign(Object.create(receiver), {
    start: () => receiver.start(),
    stop: () => receiver.stop(),
    requestListener: (...args: Parameters<Receiver['requestListener']>): ReceiverRequestListener => {
      const listener = receiver.requestListener(...args)
      return (request, response) => {
        listener(request, response)
        isRead.push(request.readableFlowing === true)
      }
    },
  })
  Object.defineProperty(watched, 'ready', { get: () => receiver.ready })
  const server = await startReceiverServer(watched, 10_000, parseServerOptions({ port: 0 }))
  open.push(server)
  const { socket, receives } = await connection(server.address.port)
  socket.write(genuine().toHttp({ chunked: true }))
  await receives(/200 OK/)
  socket.write(genuine().toHttp())
  await receives(/200 OK[^]*200 OK/)
  // A body of known length is read together with the others of its batch.
  expect(isRead).toEqual([true, false])
})

describe('close()', () => {
  it('is safe to call twice', async () => {
    const { server } = await start()
    const first = server.close()
    expect(server.close()).toBe(first)
    await first
  })

  it('sends all answers to pipelined requests, also to one that arrives meanwhile, before the connection is closed', async () => {
    const finish = deferred()
    let running = 0
    const { server, port } = await start({}, { handler: () => (running++, finish.promise) })
    const { socket, received, closed } = await connection(port)
    socket.write(Buffer.concat([genuine().toHttp(), genuine().toHttp()]))
    await until(() => running === 2)
    const closing = server.close()
    socket.write(genuine().toHttp())
    await until(() => running === 3)
    finish.resolve()
    await closed
    expect(received()).toMatch(/^(?:HTTP\/1\.1 200 OK\r\n[^]*){3}$/)
    expect(received().match(/Connection: close/g)).toHaveLength(1)
    await closing
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
