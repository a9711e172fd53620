import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { sendHttp1, sendHttp2 } from '../../src/diagnosis/doctor/exchange.js'
import { createProbe } from '../../src/diagnosis/doctor/probe.js'
import { serve } from '../support/hosts.js'
import { SECRET, subscription } from '../support/subscription.js'

const { eventTypeName } = subscription
const probe = createProbe({ secret: SECRET, eventTypeName, sentAtMs: Date.now() })

it('takes a 101 that was not asked for as an answer', async () => {
  const port = await serve(({ socket }) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  const exchange = await sendHttp1(new URL(`http://127.0.0.1:${port}/`), probe, { timeoutMs: 5_000 })
  expect(exchange).toMatchObject({ answer: { status: 101, text: '' } })
})

it.each([
  ['closes the stream', (stream: ServerHttp2Stream) => stream.close()],
  ['cancels the stream', (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ['closes the connection', ({ session }: ServerHttp2Stream) => session!.destroy()],
])('says at once that an HTTP/2 server that %s has not answered', async (_, end) => {
  const server = createServer()
    .on('stream', (stream) => end(stream.on('error', () => {})))
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const exchange = await sendHttp2(url, probe, { timeoutMs: 60_000 })
    expect(exchange).toMatchObject({ error: 'ECONNRESET' })
  } finally {
    server.close()
  }
})
