import {
  connect,
  constants,
  createServer,
  type ClientHttp2Stream,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, type OutcomeCode } from '../../src/index.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const close: (() => void)[] = []
afterEach(() => close.splice(0).forEach((each) => each()))

interface Answer {
  readonly status: number
  readonly connection: string | undefined
  readonly body: string
}

/** A receiver behind `node:http2`, whose requests and responses look like those of `node:http`. */
async function runOverHttp2(mount: 'requestListener' | 'middleware', bodyTimeoutMs = 10_000) {
  const codes: OutcomeCode[] = []
  const streams: ServerHttp2Stream[] = []
  const receiver = createReceiver({ subscriptions: [subscription], bodyTimeoutMs, logger: false })
  receiver.onAny(() => {}).onOutcome(({ code }) => codes.push(code))
  const listener: RequestListener =
    mount === 'requestListener'
      ? receiver.requestListener()
      : (request, response) => receiver.middleware()(request, response, () => {})
  const { client, server } = await connected((request, response) =>
    listener(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  )
  server.on('stream', (stream) => void streams.push(stream))

  const send = (callback: SignedCallback, feed: (stream: ClientHttp2Stream) => void) =>
    new Promise<Answer>((resolve, reject) => {
      const stream = client.request(requestHeaders(callback), { endStream: false })
      let answer = { status: 0, connection: undefined as string | undefined, body: '' }
      stream.on('response', ({ ':status': status = 0, connection }) => {
        answer = { ...answer, status, connection }
      })
      stream.setEncoding('utf8').on('data', (text) => (answer.body += text))
      stream.on('end', () => resolve(answer)).on('error', reject)
      feed(stream)
    })
  return { send, codes, streams, receiver }
}

/** A server, and a client that is connected to it until the test is over. */
async function connected(onRequest: (request: Http2ServerRequest, response: Http2ServerResponse) => void) {
  const server = createServer(onRequest)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  close.push(() => {
    client.destroy()
    server.close()
  })
  return { client, server }
}

function requestHeaders({ path, headers }: SignedCallback): OutgoingHttpHeaders {
  const given = Object.fromEntries(Object.entries(headers).filter(([name]) => !/^host$/i.test(name)))
  return { ':method': 'POST', ':path': path, ...given }
}

describe.each(['requestListener', 'middleware'] as const)('%s() over HTTP/2', (mount) => {
  it('handles a genuine callback and refuses a forged one', async () => {
    const { send, codes } = await runOverHttp2(mount)
    const callback = genuine()
    const forged = genuine({ headers: { Authorization: FORGED } })
    expect(await send(callback, (stream) => stream.end(callback.body))).toMatchObject({ status: 200 })
    expect(await send(forged, (stream) => stream.end(forged.body))).toMatchObject({ status: 401 })
    expect(codes).toEqual(['HANDLED', 'ERR_SIGNATURE_MISMATCH'])
  })

  it('answers a HEAD without a body', async () => {
    const { send } = await runOverHttp2(mount)
    const answer = await send({ ...genuine(), headers: { ':method': 'HEAD' } }, (stream) => stream.end())
    expect(answer).toMatchObject({ status: 405, body: '' })
  })

  it('closes the stream of a body that is too slow, and buffers no more of it', async () => {
    const { send, streams } = await runOverHttp2(mount, 50)
    let sender: ClientHttp2Stream | undefined
    const answer = await send(genuine({ headers: { 'Content-Length': null } }), (stream) => {
      sender = stream
      stream.write('{')
    })
    expect(answer).toEqual({ status: 408, connection: undefined, body: expect.stringContaining('408') })
    await until(() => streams[0]!.destroyed && sender!.closed)
    expect(sender!.rstCode).toBe(0)
  })

  it('closes the stream of a body that is too large', async () => {
    const { send, streams } = await runOverHttp2(mount)
    const answer = await send(genuine({ headers: { 'Content-Length': null } }), (stream) => {
      for (let sent = 0; sent < 40; sent++) stream.write(Buffer.alloc(50_000))
    })
    expect(answer).toEqual({ status: 413, connection: undefined, body: expect.stringContaining('413') })
    await until(() => streams[0]!.destroyed)
  })

  it('closes the stream of a body that is refused unread', async () => {
    const { send, streams } = await runOverHttp2(mount)
    const callback = genuine({ headers: { Authorization: null } })
    const answer = await send(callback, (stream) => stream.write('{'))
    expect(answer.status).toBe(401)
    await until(() => streams[0]!.destroyed)
  })

  it('sends no Connection header while it stops', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { send, receiver } = await runOverHttp2(mount)
    await receiver.stop()
    const callback = genuine()
    const answer = await send(callback, (stream) => stream.end(callback.body))
    expect(answer).toMatchObject({ status: 503, connection: undefined })
    expect(warned).not.toHaveBeenCalled()
    warned.mockRestore()
  })
})

it('a stream that its sender has reset before it is read counts as aborted, and not as read by other code', async () => {
  const codes: OutcomeCode[] = []
  const receiver = createReceiver({ subscriptions: [subscription], logger: false }).onOutcome(({ code }) =>
    codes.push(code),
  )
  const listener = receiver.requestListener() as (...given: unknown[]) => void
  const { client, server } = await connected((request, response) =>
    request.once('close', () => setImmediate(() => listener(request, response))),
  )
  const stream = client.request(requestHeaders(genuine()), { endStream: false }).on('error', () => {})
  server.once('stream', () => stream.close(constants.NGHTTP2_CANCEL))
  await until(() => codes.length > 0)
  expect(codes).toEqual(['ERR_BODY_ABORTED'])
})
