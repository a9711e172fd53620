import { Readable } from 'node:stream'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { collectedLog } from '../support/collected-log.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { FORGED, genuine } from '../support/running-receiver.js'
import { until } from '../support/until.js'
import { run } from './collecting-receiver.js'

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
    expect(outcomes.map(({ name }) => name)).toEqual(['handled', 'duplicate'])
  })

  it('can be passed on without the receiver', async () => {
    const { fetch } = run().receiver
    expect((await fetch(fetchRequest(genuine()))).status).toBe(200)
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
  ])('answers 503 when the body was %s before, and the log says what to pass', async (_how, spoil) => {
    const log = collectedLog()
    const { receiver, codes } = run({ logger: log })
    const request = fetchRequest(genuine())
    await spoil(request)
    expect((await receiver.fetch(request)).status).toBe(503)
    expect(codes()).toEqual(['ERR_BODY_ALREADY_READ'])
    const reason =
      'receiver.fetch: the body of the request was read before, or is being read, by other code, so the signed bytes ' +
      'are gone: pass the request before other code reads it, and give request.clone() to the other code'
    expect(log.lines).toMatchObject([{ level: 'error', fields: { reason } }])
  })

  it('says in the log that the body of a request of another class is parsed', async () => {
    const log = collectedLog()
    const { receiver } = run({ logger: log })
    const { method, path, headers } = genuine()
    const request = { method, url: path, headers: new Headers(headers), body: { Id: '7' } }
    expect((await receiver.fetch(request as unknown as Request)).status).toBe(503)
    const reason =
      'receiver.fetch: the body of the request is of type object: pass the Request of the Fetch API as it arrived'
    expect(log.lines).toMatchObject([{ level: 'error', fields: { reason } }])
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
    const pass = fakeTimeouts()
    const { 'Content-Length': _, ...headers } = genuine().headers
    const slow = Array.from({ length: 4 }, () =>
      receiver.fetch(fetchRequest(genuine(), { headers, body: endless([new Uint8Array(9_000)]) })),
    )
    await until(() => codes().length === 2)
    await pass(200)
    const statuses = (await Promise.all(slow)).map(({ status }) => status)
    // The older ones give way.
    expect(statuses).toEqual([503, 503, 408, 408])
    expect(codes()).toContain('ERR_BODY_MEMORY_FULL')
    expect((await receiver.fetch(fetchRequest(genuine()))).status).toBe(200)
  })
})
