import { EventEmitter } from 'node:events'
import { IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { captureRawBody, createReceiver } from '../../src/index.js'
import { collectedLog } from '../support/collected-log.js'
import { genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

/** What a mock library of unit tests makes of a response. */
function mockResponse() {
  const response = {
    status: 0,
    headersSent: false,
    writeHead(status: number) {
      Object.assign(response, { status, headersSent: true })
    },
    end() {},
  }
  return response
}

/** What the middleware does with a request that no server has made. */
async function deliver(request: object, middleware = receiving) {
  const log = collectedLog()
  const response = mockResponse()
  const handled: Buffer[] = []
  middleware(log, handled)(request as IncomingMessage, response as unknown as ServerResponse, () => {})
  await until(() => log.lines.length > 0)
  const { code, reason } = log.lines[0]!.fields as { code: string; reason: string }
  return { status: response.status, code, reason, handled }
}

function receiving(logger: ReturnType<typeof collectedLog>, handled: Buffer[]) {
  const receiver = createReceiver({ subscriptions: [subscription], logger })
  return receiver.onAny(({ rawBody }) => void handled.push(rawBody)).middleware()
}

const callback = genuine()
const headers = Object.fromEntries(
  Object.entries(callback.headers).map(([name, value]) => [name.toLowerCase(), value]),
)
const head = {
  method: 'POST',
  url: callback.path,
  headers: { ...headers, 'content-length': String(callback.body.length) },
}
const JSON_BODY = JSON.parse(callback.body.toString()) as object

/** A request that other code has read to its end. */
async function read(pieces: readonly (Buffer | null)[]): Promise<IncomingMessage> {
  const request = new IncomingMessage(new Socket())
  request.complete = true
  for (const piece of pieces) request.push(piece)
  await new Promise((resolve) => request.once('end', resolve).resume())
  return request
}

describe('a stream that has ended without a byte', () => {
  async function ended(more: object) {
    return Object.assign(await read([null]), head, more)
  }

  it.each([
    ['Content-Length is above 0 and the body was parsed', { body: JSON_BODY }],
    ['Content-Length is above 0 and the body is a text', { body: callback.body.toString() }],
    ['Content-Length is above 0 and there is no body', {}],
    ['there is no Content-Length and the body was parsed', { headers, body: JSON_BODY }],
  ])('is refused as read if %s', async (_when, more) => {
    expect(await deliver(await ended(more))).toMatchObject({ status: 503, code: 'ERR_BODY_ALREADY_READ' })
  })

  it.each([
    ['it is 0', { headers: { ...headers, 'content-length': '0' }, body: {} }],
    ['there is none', { headers, body: undefined }],
  ])('is an empty body if Content-Length says so: %s', async (_when, more) => {
    expect(await deliver(await ended(more))).toMatchObject({ status: 401, code: 'ERR_SIGNATURE_MISMATCH' })
  })

  it('is refused by receive() too if Content-Length is above 0', async () => {
    const body = Readable.from([]).resume()
    await new Promise((resolve) => body.once('end', resolve))
    const receiver = createReceiver({ subscriptions: [subscription], logger: false }).onAny(() => {})
    const { outcome } = await receiver.receive({ ...head, path: callback.path, body: () => body })
    expect(outcome.code).toBe('ERR_BODY_ALREADY_READ')
    expect(outcome.reason).toMatch(
      /ended without a byte, although Content-Length is above 0: pass the stream/,
    )
  })
})

describe.each([
  ['an object', () => ({ ...head })],
  ['an emitter', () => Object.assign(new EventEmitter(), head)],
])('a request that is no stream, but %s,', (_what, make) => {
  it('is refused, and the reason says what it is and what to do', async () => {
    const { status, code, reason } = await deliver({ ...make(), body: JSON_BODY })
    expect([status, code]).toEqual([503, 'ERR_BODY_ALREADY_READ'])
    expect(reason).toMatch(/^the request is not a stream, .* mock library: .* Buffer in rawBody/)
  })

  it.each(['body', 'rawBody'])('is taken with bytes in %s', async (property) => {
    for (const bytes of [callback.body, new Uint8Array(callback.body)]) {
      const { status, handled } = await deliver(Object.assign(make(), { [property]: bytes }))
      expect([status, handled]).toEqual([200, [callback.body]])
    }
  })
})

it.each([
  ['receiver.middleware()', receiving],
  ['captureRawBody()', (logger: ReturnType<typeof collectedLog>) => captureRawBody({ logger })],
])('%s says that rawBody is a text, and how to keep the bytes', async (_name, middleware) => {
  const request = Object.assign(await read([callback.body, null]), head, {
    rawBody: callback.body.toString(),
    body: JSON_BODY,
  })
  const { status, code, reason } = await deliver(request, middleware)
  expect([status, code]).toEqual([503, 'ERR_BODY_ALREADY_READ'])
  expect(reason).toMatch(/^req\.rawBody is a text, .*verify: .*req\.rawBody = bytes.*without toString\(\)/)
})
