import { once } from 'node:events'
import { createServer, get, type RequestListener, type Server } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createReceiver, createWorker, MemoryInbox, type ReceiverOptions } from '../../src/index.js'
import { createClient } from '../../src/client/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { connection } from '../support/connection.js'
import { deferred } from '../support/deferred.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const servers: Server[] = []
afterEach(() => servers.splice(0).forEach((server) => server.close().closeAllConnections()))

async function mounted(options: Partial<ReceiverOptions> = {}, app?: RequestListener) {
  const receiver = createReceiver({ subscriptions: [subscription], logger: collectedLog(), ...options })
  const handler = jest.fn()
  receiver.on(subscription.eventTypeName, handler)
  const server = createServer(receiver.requestListener(app))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), receiver.start()])
  const { port } = server.address() as AddressInfo
  return { receiver, handler, server, port, send: () => sendRawRequest(genuine().toHttp(), { port }) }
}

describe('stop({ server, delayMs })', () => {
  it('accepts callbacks for delayMs while it is not ready, and closes each connection after its answer', async () => {
    const { receiver, server, send } = await mounted()
    expect((await send()).headers.connection).not.toBe('close')
    const stopped = receiver.stop({ server, delayMs: 100 })
    expect(receiver.ready).toBe(false)
    await receiver.start()
    expect(await send()).toMatchObject({ status: 200, headers: { connection: 'close' } })
    await stopped
    expect(server.listening).toBe(false)
    expect(server.listenerCount('connection') + server.listenerCount('request')).toBe(2)
    await expect(receiver.start()).rejects.toMatchObject({ code: 'ERR_STOPPED' })
  })

  it('answers what is being handled, and of pipelined requests each', async () => {
    const { receiver, handler, server, port } = await mounted()
    const finish = deferred()
    handler.mockImplementation(() => finish.promise)
    const { socket, received, closed } = await connection(port)
    socket.write(genuine().toHttp())
    await until(() => handler.mock.calls.length === 1)
    const stopped = receiver.stop({ server, delayMs: 20 })
    socket.write(Buffer.concat([genuine().toHttp(), genuine().toHttp()]))
    await until(() => handler.mock.calls.length === 3)
    finish.resolve()
    await stopped
    await closed
    expect(received().match(/HTTP\/1\.1 200/g)).toHaveLength(3)
    expect(received().match(/Connection: close/g)).toHaveLength(1)
  })

  it('lets other requests of the server end', async () => {
    const { receiver, server, port } = await mounted({}, (_request, response) => {
      setTimeout(() => response.end('late'), 1_150)
    })
    const request = get({ port, host: '127.0.0.1' })
    await once(server, 'request')
    const answer = once(request, 'response')
    await receiver.stop({ server })
    const [{ statusCode }] = await answer
    expect(statusCode).toBe(200)
  })

  it.each([
    ['a server of node:http2', { server: createHttp2Server() }, 'ERR_OPTION_INVALID'],
    ['a negative delay', { delayMs: -1 }, 'ERR_OPTION_INVALID'],
    ['the name of a signal', 'SIGTERM', 'ERR_OPTION_INVALID'],
    ['an unknown option', { delay: 1 }, 'ERR_OPTION_UNKNOWN'],
  ])('refuses %s, and does not stop', async (_, options, code) => {
    const { receiver } = await mounted()
    expect(() => receiver.stop(options as never)).toThrow(expect.objectContaining({ code }))
    expect(receiver.ready).toBe(true)
    await receiver.stop()
  })
})

test('await using stops a receiver and a worker, and closes a client', async () => {
  const { receiver } = await mounted()
  await receiver[Symbol.asyncDispose]()
  expect(receiver.ready).toBe(false)
  const worker = createWorker({ inbox: new MemoryInbox(), logger: collectedLog() })
  await worker[Symbol.asyncDispose]()
  await expect(worker.start()).rejects.toMatchObject({ code: 'ERR_STOPPED' })
  const client = createClient({
    baseUrl: 'https://a.example',
    clientId: 'e2f7b2a0-6a1b-4e6f-9d0c-5b8f3c1d2e4f',
    clientSecret: 'b',
  })
  await client[Symbol.asyncDispose]()
  await expect(client.accessToken()).rejects.toMatchObject({ code: 'ERR_CLOSED' })
})
