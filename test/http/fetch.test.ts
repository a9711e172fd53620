import { Readable } from 'node:stream'
import { createReceiver, type Handler, type Outcome, type PlainRequest } from '../../src/index.js'
import type { ReceiverOptions } from '../../src/index.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { deferred } from '../support/deferred.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'

interface RunOptions extends Partial<ReceiverOptions> {
  readonly handler?: Handler
}

function run({ handler = () => {}, ...options }: RunOptions = {}) {
  const outcomes: Outcome[] = []
  const receiver = createReceiver<object>({ subscriptions: [subscription], logger: false, ...options })
    .onAny(handler)
    .onOutcome((outcome) => outcomes.push(outcome))
  return { receiver, outcomes, codes: () => outcomes.map(({ code }) => code) }
}

function fetchRequest({ path, method, headers, body }: SignedCallback, changed: RequestInit = {}): Request {
  const init = { method, headers, body, duplex: 'half', ...changed } as RequestInit
  return new Request(`http://127.0.0.1${path}`, init)
}

/** A body whose pieces come from `pieces`, and then never ends. */
function endless(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => pieces.forEach((piece) => controller.enqueue(piece)),
  })
}

describe('receiver.fetch()', () => {
  it('handles a genuine callback before it answers, and a repeat only once', async () => {
    const handler = jest.fn()
    const { receiver, outcomes } = run({ handler })
    const callback = genuine()
    for (let time = 0; time < 2; time++) {
      const response = await receiver.fetch(fetchRequest(callback))
      expect([response.status, await response.text()]).toEqual([200, ''])
    }
    expect(handler).toHaveBeenCalledTimes(1)
    expect(handler.mock.calls[0][0].rawBody).toEqual(callback.body)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['handled', 'duplicate'])
  })

  it('answers a forged callback as every listener does', async () => {
    const { receiver } = run()
    const response = await receiver.fetch(fetchRequest(genuine({ headers: { Authorization: FORGED } })))
    expect(response.status).toBe(401)
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-type': 'application/problem+json',
      'www-authenticate': 'HMAC-SHA256',
    })
    expect(await response.json()).toEqual({ type: 'about:blank', title: 'Unauthorized', status: 401 })
  })

  it('reads a body in pieces', async () => {
    const { receiver } = run()
    const callback = genuine()
    const body = Readable.toWeb(Readable.from([...callback.body].map((byte) => Buffer.of(byte))))
    const response = await receiver.fetch(fetchRequest(callback, { body: body as ReadableStream }))
    expect(response.status).toBe(200)
  })

  it.each([
    ['GET', 405, { method: 'GET', body: null }],
    ['a compressed body', 415, { headers: { ...genuine().headers, 'Content-Encoding': 'gzip' } }],
    ['no credentials', 401, { headers: {} }],
    [
      'a declared length beyond the limit',
      413,
      { headers: { ...genuine().headers, 'Content-Length': '2000' } },
    ],
  ])('refuses %s with %d, and reads nothing of the body', async (_what, status, changed) => {
    const { receiver } = run({ maxBodyBytes: 1_000 })
    const request = fetchRequest(genuine(), changed)
    expect((await receiver.fetch(request)).status).toBe(status)
    expect(request.bodyUsed).toBe(false)
  })

  it('takes a repeated Authorization, which Fetch joins, for a malformed one', async () => {
    const { receiver, codes } = run()
    const request = fetchRequest(genuine())
    request.headers.append('Authorization', FORGED)
    expect((await receiver.fetch(request)).status).toBe(401)
    expect(codes()).toEqual(['ERR_AUTHORIZATION_MALFORMED'])
  })

  it.each([
    ['X-Event-Type', 401, 'ERR_EVENT_TYPE_MISMATCH'],
    ['X-Idempotency-Key', 400, 'ERR_IDEMPOTENCY_KEY_MALFORMED'],
  ])('takes a repeated %s, which Fetch joins, for one header: %d, %s', async (name, status, code) => {
    const { receiver, codes } = run()
    const request = fetchRequest(genuine())
    request.headers.append(name, request.headers.get(name)!)
    expect((await receiver.fetch(request)).status).toBe(status)
    expect(codes()).toEqual([code])
  })

  it('answers 413 as soon as the limit is exceeded, although the body never ends', async () => {
    const { receiver } = run({ maxBodyBytes: 1_000 })
    const { 'Content-Length': _, ...headers } = genuine().headers
    const pieces = Array.from({ length: 1_001 }, () => new Uint8Array(1))
    const request = fetchRequest(genuine(), { headers, body: endless(pieces) })
    expect((await receiver.fetch(request)).status).toBe(413)
  })

  it('answers 408 when the body takes longer than bodyTimeoutMs', async () => {
    const { receiver } = run({ bodyTimeoutMs: 20 })
    const request = fetchRequest(genuine(), { body: endless([new Uint8Array(1)]) })
    expect((await receiver.fetch(request)).status).toBe(408)
  })

  it('answers 400 when the sender hangs up', async () => {
    const { receiver, codes } = run()
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error('connection reset')),
    })
    expect((await receiver.fetch(fetchRequest(genuine(), { body }))).status).toBe(400)
    expect(codes()).toEqual(['ERR_BODY_ABORTED'])
  })

  it.each([
    ['read', (request: Request) => request.text()],
    ['locked', async (request: Request) => void request.body!.getReader()],
  ])('answers 503 when the body was %s before', async (_how, spoil) => {
    const { receiver, codes } = run()
    const request = fetchRequest(genuine())
    await spoil(request)
    expect((await receiver.fetch(request)).status).toBe(503)
    expect(codes()).toEqual(['ERR_BODY_ALREADY_READ'])
  })

  it('answers 503 while the receiver stops, also to a body that is on its way', async () => {
    const { receiver } = run()
    const late = receiver.fetch(fetchRequest(genuine(), { body: endless([new Uint8Array(1)]) }))
    await receiver.stop()
    for (const response of [await late, await receiver.fetch(fetchRequest(genuine()))]) {
      expect(response.status).toBe(503)
      expect(response.headers.get('Retry-After')).toBe('10')
    }
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['a URL', 'http://127.0.0.1/hooks', 'of type string'],
    ['a request of node:http', { method: 'POST', url: '/hooks', headers: {} }, 'of type object'],
  ])('rejects with what to pass when it is given %s', async (_what, given, shown) => {
    const { receiver } = run()
    await expect(receiver.fetch(given as Request)).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option: 'request',
      message: `receiver.fetch: request is ${shown}: pass the Request of the Fetch API that your server or framework passes.`,
    })
  })

  it('takes a request of another class, whose URL is only a path', async () => {
    const { receiver } = run()
    const { method, path, headers, body } = genuine()
    const request = { method, url: path, headers: new Headers(headers), body: new Blob([body]).stream() }
    expect((await receiver.fetch(request as Request)).status).toBe(200)
  })

  it('counts bodies towards maxBufferedBytes', async () => {
    const { receiver, codes } = run({ maxBodyBytes: 10_000, maxBufferedBytes: 20_000, bodyTimeoutMs: 200 })
    const { 'Content-Length': _, ...headers } = genuine().headers
    const slow = Array.from({ length: 4 }, () =>
      receiver.fetch(fetchRequest(genuine(), { headers, body: endless([new Uint8Array(9_000)]) })),
    )
    const statuses = (await Promise.all(slow)).map(({ status }) => status)
    expect(statuses).toEqual([408, 408, 503, 503])
    expect(codes()).toContain('ERR_BODY_MEMORY_FULL')
    expect((await receiver.fetch(fetchRequest(genuine()))).status).toBe(200)
  })
})

describe('receiver.receive()', () => {
  const plain = ({ path, method, headers }: SignedCallback, body: PlainRequest['body']): PlainRequest => ({
    method,
    path,
    headers,
    body,
  })

  it('returns the answer and what became of the callback', async () => {
    const { receiver } = run()
    const callback = genuine()
    expect(await receiver.receive(plain(callback, callback.body))).toEqual({
      status: 200,
      headers: {},
      body: '',
      outcome: expect.objectContaining({ outcome: 'handled', code: 'HANDLED' }),
    })
  })

  it.each<[string, (bytes: Buffer) => PlainRequest['body']]>([
    ['bytes', (bytes) => new Uint8Array(bytes)],
    ['a function that returns bytes', (bytes) => () => bytes],
    ['a promise of bytes', (bytes) => async () => new Uint8Array(bytes)],
    ['a Node stream', (bytes) => () => Readable.from([bytes], { objectMode: false })],
    [
      'a Node stream in object mode, with pieces that are no Buffers',
      (bytes) => () =>
        Readable.from([new Uint8Array(bytes.subarray(0, 5)), new Uint8Array(bytes.subarray(5))]),
    ],
    ['a web stream', (bytes) => () => new Blob([new Uint8Array(bytes)]).stream()],
    [
      'an async generator',
      (bytes) =>
        async function* () {
          yield bytes.subarray(0, 5)
          yield bytes.subarray(5)
        },
    ],
  ])('takes a body as %s', async (_kind, bodyOf) => {
    const { receiver } = run()
    const callback = genuine()
    expect((await receiver.receive(plain(callback, bodyOf(callback.body)))).status).toBe(200)
  })

  it.each<[string, (headers: Record<string, string>) => NonNullable<PlainRequest['headers']>]>([
    ['Headers of the Fetch API', (headers) => new Headers(headers)],
    ['a Map', (headers) => new Map(Object.entries(headers))],
  ])('takes headers as %s', async (_kind, headersOf) => {
    const { receiver } = run()
    const { method, path, headers, body } = genuine()
    const { status } = await receiver.receive({ method, path, headers: headersOf(headers), body })
    expect(status).toBe(200)
  })

  it('sees repeated headers in a raw list', async () => {
    const { receiver } = run()
    const { method, path, headers, body } = genuine()
    const rawHeaders = [...Object.entries(headers).flat(), 'authorization', FORGED]
    const { outcome } = await receiver.receive({ method, path, rawHeaders, body })
    expect(outcome.code).toBe('ERR_AUTHORIZATION_REPEATED')
  })

  it('answers 400 when the source of the body fails, and never rejects', async () => {
    const { receiver } = run()
    const fails = () => {
      throw new Error('no source')
    }
    const bodies = [fails, () => ({ [Symbol.asyncIterator]: fails })] as PlainRequest['body'][]
    for (const body of bodies) expect((await receiver.receive(plain(genuine(), body))).status).toBe(400)
  })

  it.each<[string, unknown, string, string]>([
    [
      'nothing',
      undefined,
      'request',
      'request is undefined: pass an object with method, path, headers and body.',
    ],
    [
      'text',
      'POST',
      'request',
      'request is of type string: pass an object with method, path, headers and body.',
    ],
    [
      'no method',
      { path: '/' },
      'method',
      'method is undefined: pass the method of the request, such as "POST".',
    ],
    [
      'no path',
      { method: 'POST', path: new URL('http://127.0.0.1/') },
      'path',
      'path is of type object: pass the path and the query of the request.',
    ],
  ])('rejects with what to pass when it is given %s', async (_what, given, option, message) => {
    const { receiver } = run()
    await expect(receiver.receive(given as PlainRequest)).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option,
      message: `receiver.receive: ${message}`,
    })
  })

  it('does not call for a body that the head gives a reason to refuse', async () => {
    const { receiver } = run()
    const body = jest.fn()
    const { status } = await receiver.receive(plain(genuine({ headers: { Authorization: null } }), body))
    expect(status).toBe(401)
    expect(body).not.toHaveBeenCalled()
  })

  it.each<[string, unknown, Outcome['code']]>([
    ['a parsed body', { Id: '7' }, 'ERR_BODY_ALREADY_READ'],
    ['text', '{"Id":"7"}', 'ERR_BODY_ALREADY_READ'],
    ['nothing', undefined, 'ERR_BODY_ALREADY_READ'],
    ['a stream of texts', () => Readable.from(['{"Id"', ':"7"}']), 'ERR_BODY_ALREADY_READ'],
    ['a stream of objects', () => Readable.from([{ Id: '7' }]), 'ERR_BODY_ALREADY_READ'],
    ['a function that throws', () => { throw new Error('no') }, 'ERR_BODY_ABORTED'], // prettier-ignore
    ['a promise that rejects', () => Promise.reject(new Error('no')), 'ERR_BODY_ABORTED'],
    ['too many bytes', new Uint8Array(2_000), 'ERR_BODY_TOO_LARGE'],
    ['a promise that is never settled', () => deferred().promise, 'ERR_BODY_TIMEOUT'],
  ])('answers, and does not reject, when the body is %s', async (_what, body, code) => {
    const { receiver } = run({ maxBodyBytes: 1_000, bodyTimeoutMs: 20 })
    const headers = { 'Content-Length': null }
    const request = plain(genuine({ headers }), body as PlainRequest['body'])
    expect((await receiver.receive(request)).outcome.code).toBe(code)
  })
})
