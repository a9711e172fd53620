import { request as httpRequest } from 'node:http'
import { connection } from '../support/connection.js'
import type { HostName } from '../support/hosts.js'
import { genuine, runReceiver } from '../support/running-receiver.js'
import { callbackHead } from './callback-head.js'

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

/** Registers the tests of an upload of 24 MB to a receiver in this host. */
export function testUploadsOf24Megabytes(hostName: HostName): void {
  it.each(UPLOADS)(
    '%s gets its 413, also from a sender that reads nothing before it has sent all',
    async (_how, framing, megabyte) => {
      const { port, outcomes } = await runReceiver({ in: hostName })
      const { socket, received, closed } = await connection(port)
      socket.pause()
      socket.write(callbackHead(framing))
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
}

function written(
  socket: { write(data: Uint8Array, done: (error?: Error | null) => void): unknown },
  data: Uint8Array,
) {
  return new Promise<void>((resolve, reject) => {
    socket.write(data, (error) => (error ? reject(error) : resolve()))
  })
}
