import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Connections } from '../../src/server/connections.js'
import { connection } from '../support/connection.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { until } from '../support/until.js'
import { get } from './running-server.js'

const closers: (() => void)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

/** More than the kernel takes for a client that does not read. */
const LARGE = Buffer.alloc(32_000_000)
const READ_TIMEOUT_MS = 5_000
/** How often the server looks for answers that are not read. */
const CHECK_MS = 500

/** A server with small and large answers, and with requests that the test answers. */
async function limited(max = 100) {
  const advance = fakeTimeouts()
  const { server } = new Connections({ max, readTimeoutMs: READ_TIMEOUT_MS }, {})
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  const held: ServerResponse[] = []
  server.on('request', ({ url }: IncomingMessage, response) => {
    if (url === '/held') held.push(response)
    else response.end(url === '/large' ? LARGE : 'small')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => (server.close(), server.closeAllConnections()))
  const { port } = server.address() as AddressInfo

  async function idle() {
    const opened = await connection(port)
    opened.socket.write(get('/small'))
    await opened.receives(/small/)
    return opened
  }
  /** Returns the side of the server once it has more to send than the client takes. */
  async function unread(path = '/large') {
    const { socket } = await connection(port)
    socket.pause().write(get(path))
    await until(() => sockets.some(({ remotePort }) => remotePort === socket.localPort))
    const accepted = sockets.find(({ remotePort }) => remotePort === socket.localPort)!
    if (path === '/large') await until(() => accepted.writableLength > 0)
    return { socket, accepted }
  }
  return { advance, held, idle, unread }
}

describe('a connection whose client reads no answer', () => {
  it('is closed after the time-out, and one whose client reads is not', async () => {
    const { advance, idle, unread } = await limited()
    const reading = await idle()
    const { accepted } = await unread()
    await advance(READ_TIMEOUT_MS - CHECK_MS)
    expect(accepted.destroyed).toBe(false)
    await advance(2 * CHECK_MS)
    expect(accepted.destroyed).toBe(true)
    reading.socket.write(get('/large'))
    await reading.receives(/200 OK[^]*200 OK/)
  })

  it('is closed after the time-out if the client has closed its own side', async () => {
    const { advance, unread } = await limited()
    const { socket, accepted } = await unread()
    socket.end()
    await advance(READ_TIMEOUT_MS + CHECK_MS)
    expect(accepted.destroyed).toBe(true)
  })

  it('is not closed while its request is in progress', async () => {
    const { advance, held, unread } = await limited()
    const { socket, accepted } = await unread('/held')
    await until(() => held.length === 1)
    await advance(2 * READ_TIMEOUT_MS)
    expect(accepted.destroyed).toBe(false)
    held[0]!.end(LARGE)
    await until(() => accepted.writableLength > 0)
    await advance(READ_TIMEOUT_MS - CHECK_MS)
    socket.resume()
    await until(() => accepted.writableLength === 0)
    await advance(2 * READ_TIMEOUT_MS)
    expect(accepted.destroyed).toBe(false)
  })
})

describe('at the limit of connections, one whose client reads no answer is closed', () => {
  it('before one that is idle', async () => {
    const { advance, idle, unread } = await limited(3)
    const kept = [await idle()]
    const { accepted } = await unread()
    await advance(CHECK_MS)
    kept.push(await idle(), await idle())
    expect(accepted.destroyed).toBe(true)
    expect(kept.map(({ socket }) => socket.closed)).toEqual([false, false, false])
  })

  it('also when the server has not yet looked for it and no connection is idle', async () => {
    const { held, idle, unread } = await limited(2)
    const busy = await unread('/held')
    await until(() => held.length === 1)
    const { accepted } = await unread()
    const next = await idle()
    expect([busy.accepted.destroyed, accepted.destroyed, next.socket.closed]).toEqual([false, true, false])
  })

  it('also when its request was in progress the last time', async () => {
    const { advance, held, idle, unread } = await limited(1)
    const { accepted } = await unread('/held')
    await until(() => held.length === 1)
    await expect(idle()).rejects.toThrow('closed after')
    held[0]!.end(LARGE)
    await until(() => accepted.writableLength > 0)
    await advance(CHECK_MS)
    await idle()
    expect(accepted.destroyed).toBe(true)
  })
})
