import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Connections } from '../../src/server/connections.js'
import { startSmallServer } from '../../src/server/small-server.js'
import { healthChecks } from '../../src/server/health-checks.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { connection } from '../support/connection.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { genuine } from '../support/running-receiver.js'
import { nextLook, until } from '../support/until.js'
import { get, start } from './running-server.js'

const closers: (() => void)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

/** A server that never answers. */
async function silent(max: number) {
  const connections = new Connections({ max, readTimeoutMs: 60_000 }, {})
  const { server } = connections
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  const held: ServerResponse[] = []
  server.on('request', (_request, response) => held.push(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => (server.close(), server.closeAllConnections()))
  const { port } = server.address() as AddressInfo
  return { connections, held, sockets, port }
}

describe('pipelined requests without an answer', () => {
  it('are accepted up to 256, and answered in order', async () => {
    const { held, port } = await silent(10)
    const { socket, received, receives } = await connection(port)
    socket.write(get('/').repeat(256))
    await until(() => held.length === 256)
    held.toReversed().forEach((response, index) => response.end(`answer ${255 - index};`))
    await receives(/answer 255;/)
    expect(received().match(/answer \d+/g)).toEqual(held.map((_response, index) => `answer ${index}`))
    socket.write(get('/').repeat(256))
    await until(() => held.length === 512)
  })

  it.each([
    ['with the request after them', get('/x')],
    ['if Node answers them itself, as they have no Host header', 'GET / HTTP/1.1\r\n\r\n'],
    [
      'if Node answers them itself, as they expect what it does not know',
      get('/x').replace('Host', 'Expect: b\r\nHost'),
    ],
    ['if they wait for 100 Continue', get('/x').replace('Host', 'Expect: 100-continue\r\nHost')],
  ])('close the connection %s, and no more of it is parsed', async (_what, request) => {
    const { connections, sockets, port } = await silent(10)
    const { socket, closed } = await connection(port)
    socket.write(request.repeat(Math.floor(60_000 / request.length)))
    await closed
    await until(() => sockets[0]!.closed)
    // The connection, and 257 requests.
    expect(connections.arrivals).toBe(1 + 257)
  })

  it('close the connection if there are more than 32 for a second', async () => {
    const advance = fakeTimeouts()
    const { held, sockets, port } = await silent(10)
    for (const [index, requests] of [32, 33, 33].entries()) {
      const { socket } = await connection(port)
      socket.write(get('/').repeat(requests))
      await until(
        () =>
          sockets[index] !== undefined &&
          held.filter(({ req }) => req.socket === sockets[index]).length === requests,
      )
    }
    const closed = () => sockets.map(({ destroyed }) => destroyed)
    await advance(500)
    expect(closed()).toEqual([false, false, false])
    held.find(({ req }) => req.socket === sockets[2])!.end()
    await until(() => held.some(({ closed: isClosed }) => isClosed))
    await advance(500)
    expect(closed()).toEqual([false, true, false])
    await advance(10_000)
    expect(closed()).toEqual([false, true, false])
  })

  it('of all connections together are bounded: the one that has pipelined longest is closed', async () => {
    const { held, sockets, port } = await silent(300)
    for (let index = 1; index <= 3; index++) {
      const { socket } = await connection(port)
      socket.write(get('/').repeat(150))
      await until(() => held.length === 150 * index)
    }
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false, false])
    const { socket } = await connection(port)
    socket.write(get('/'))
    await until(() => held.length === 451)
  })
})

/** Requests of 64 bytes, as many as a small packet holds. */
const PACKET = get('/x')
  .replace('Host: a', `Host: ${'a'.repeat(64 - get('/x').length + 1)}`)
  .repeat(8)

/** A client that sends requests and reads no answer, until the server has closed its connection. */
async function flood(port: number): Promise<void> {
  const { socket } = await connection(port)
  socket.pause()
  const written = () => new Promise<unknown>((resolve) => socket.write(PACKET, resolve))
  while (!(await written())) await nextLook(0)
}

describe.each([
  [
    'the server of the receiver',
    async () => {
      const { port } = await start({ maxConnections: 20, headersTimeoutMs: 500 })
      return { port, max: 20, request: genuine().toHttp() }
    },
  ],
  [
    'the admin server',
    async () => {
      const listener = healthChecks(
        () => true,
        (_request, response) => void response.writeHead(404, { 'Content-Length': 0 }).end(),
      )
      const { address, close } = await startSmallServer(listener, '127.0.0.1', 0, 'test')
      closers.push(close)
      return { port: address.port, max: 100, request: Buffer.from(get('/healthz')) }
    },
  ],
])('%s', (_name, run) => {
  it('serves others while as many clients as it has connections send requests and read nothing', async () => {
    const { port, max, request } = await run()
    const floods = Array.from({ length: max }, () => flood(port))
    // On a machine that does much else, a second of processor time takes several.
    const sending = async () => (await sendRawRequest(request, { port }, { timeoutMs: 30_000 })).status
    for (let sent = 0; sent < 9; sent++) expect(await sending()).toBe(200)
    await Promise.race(floods)
    expect(await sending()).toBe(200)
  }, 60_000)
})
