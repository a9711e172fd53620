import { request as httpRequest } from 'node:http'
import { connection } from '../support/connection.js'
import { HOST_NAMES } from '../support/hosts.js'
import { genuine, runReceiver } from '../support/running-receiver.js'

const MEGABYTE = Buffer.alloc(1_000_000, ' ')
// More than the buffers of the operating system hold on both sides.
const MEGABYTES = 24

/** The head of a callback, and the megabytes that follow it as they go over the wire. */
const UPLOADS = [
  ['with its length', { 'Content-Length': `${MEGABYTES * MEGABYTE.length}` }, [MEGABYTE]],
  [
    'in chunks',
    { 'Transfer-Encoding': 'chunked' },
    [Buffer.from('f4240\r\n'), MEGABYTE, Buffer.from('\r\n')],
  ],
] as const

describe.each(HOST_NAMES)('in %s, an upload of 24 MB', (hostName) => {
  it.each(UPLOADS)(
    '%s gets its 413, also from a sender that reads nothing before it has sent all',
    async (_how, framing, megabyte) => {
      const { port, outcomes } = await runReceiver({ in: hostName })
      const { socket, received, closed } = await connection(port)
      socket.pause()
      socket.write(head(framing))
      for (let sent = 0; sent < MEGABYTES; sent++) {
        for (const piece of megabyte) await written(socket, piece)
      }
      await written(socket, Buffer.from('Transfer-Encoding' in framing ? '0\r\n\r\n' : ''))
      socket.resume()
      await closed

      expect(received()).toMatch(/^HTTP\/1\.1 413 [^]*"status":413}$/)
      expect(outcomes.map(({ code }) => code)).toEqual(['ERR_BODY_TOO_LARGE'])
    },
  )

  it.each(UPLOADS)('%s gets its 413 through http.request', async (_how, framing) => {
    const { port } = await runReceiver({ in: hostName })
    const { headers, path } = genuine()
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(
        { port, path, method: 'POST', headers: { ...headers, ...framing } },
        (response) => response.resume().on('end', () => resolve(response.statusCode)),
      )
      request.on('error', reject)
      for (let sent = 0; sent < MEGABYTES; sent++) request.write(MEGABYTE)
      request.end()
    })
    expect(status).toBe(413)
  })

  it.each([
    ['with its length', () => Buffer.alloc(MEGABYTES * MEGABYTE.length, ' ')],
    ['in chunks', () => ReadableStream.from(Array.from({ length: MEGABYTES }, () => MEGABYTE))],
  ])('%s gets its 413 through fetch', async (_how, body) => {
    const { port } = await runReceiver({ in: hostName })
    const { headers, path } = genuine()
    const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body: body(), duplex: 'half' }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({ type: 'about:blank', title: 'Payload Too Large', status: 413 })
  })
})

describe('an upload that is too large', () => {
  it('is listened to no longer than bodyTimeoutMs', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 50 })
    const { socket, received, closed } = await connection(port)
    socket.write(head(UPLOADS[0][1]))
    // Nothing more comes, and the connection is not ours to keep.
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 413 [^]*"status":413}$/)
  })

  it('is not listened to when it comes in thousands of tiny chunks', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 600_000 })
    const { socket, received, receives, closed } = await connection(port)
    socket.write(head({ 'Transfer-Encoding': 'chunked', Authorization: null }))
    await receives(/^HTTP\/1\.1 401 [^]*"status":401}$/)
    socket.write('1\r\nx\r\n'.repeat(10_000))
    socket.write('1\r\nx\r\n')
    await closed
    expect(received()).toMatch(/"status":401}$/)
  })

  it('is not listened to after an answer without Authorization either', async () => {
    const { port } = await runReceiver({ bodyTimeoutMs: 50 })
    const { socket, received, closed } = await connection(port)
    socket.write(head({ ...UPLOADS[0][1], Authorization: null, 'Content-Length': '1000' }))
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 401 [^]*"status":401}$/)
  })
})

function head(headers: Record<string, string | null>): Buffer {
  const request = genuine({ body: '', headers: { 'Content-Length': null, ...headers } }).toHttp()
  return request.subarray(0, request.indexOf('\r\n\r\n') + 4)
}

function written(
  socket: { write(data: Uint8Array, done: (error?: Error | null) => void): unknown },
  data: Uint8Array,
) {
  return new Promise<void>((resolve, reject) => {
    socket.write(data, (error) => (error ? reject(error) : resolve()))
  })
}
