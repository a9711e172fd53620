import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Outcome, PlainRequest } from '../../src/index.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { collectedLog } from '../support/collected-log.js'
import { deferred } from '../support/deferred.js'
import { FORGED, genuine } from '../support/running-receiver.js'
import { run } from './collecting-receiver.js'

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
      outcome: expect.objectContaining({ name: 'handled', code: 'HANDLED' }),
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

  it('takes the method in lower case, as hapi and uWebSockets.js have it', async () => {
    const { receiver } = run()
    const callback = genuine()
    expect((await receiver.receive({ ...plain(callback, callback.body), method: 'post' })).status).toBe(200)
    expect((await receiver.receive({ ...plain(callback, callback.body), method: 'put' })).status).toBe(405)
  })

  it.each<[string, object]>([
    ['by name', { 'content-length': 5, authorization: 5, 'x-more': [5, null] }],
    ['in a Map', new Map<string, unknown>([['authorization', 5]])],
    ['in pairs', [['authorization', 5], [5]]],
  ])('refuses a request with header values that are no texts, %s', async (_how, headers) => {
    const { receiver } = run()
    const { method, path, body } = genuine()
    const request = { method, path, headers, body } as PlainRequest
    expect(await receiver.receive(request)).toMatchObject({ status: 401 })
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
    [
      'no headers',
      { method: 'POST', path: '/' },
      'headers',
      'headers is undefined: pass an object, or rawHeaders.',
    ],
    [
      'headers as text',
      { method: 'POST', path: '/', headers: `Authorization: ${FORGED}` },
      'headers',
      'headers is of type string: pass an object, or rawHeaders.',
    ],
    [
      'pairs in rawHeaders',
      { method: 'POST', path: '/', rawHeaders: [['authorization', FORGED]] },
      'rawHeaders',
      'rawHeaders is a list: pass names and values in turn, as rawHeaders of node:http has them.',
    ],
  ])('rejects with what to pass when it is given %s', async (_what, given, option, message) => {
    const { receiver } = run()
    await expect(receiver.receive(given as PlainRequest)).rejects.toMatchObject({
      code: 'ERR_OPTION_INVALID',
      option,
      message: `receiver.receive: ${message}`,
    })
  })

  it.each(['abc', '-5'])('reads a body whose Content-Length is %s, which is no length', async (length) => {
    const { receiver, codes } = run({ maxBodyBytes: 1_000 })
    const receive = ({ body, ...callback }: SignedCallback) => {
      const headers = { ...callback.headers, 'Content-Length': length }
      const pieces = async function* () {
        yield body.subarray(0, 5)
        yield body.subarray(5)
      }
      return receiver.receive({ ...callback, headers, body: pieces })
    }
    await receive(genuine())
    await receive(genuine({ body: Buffer.alloc(1_001) }))
    expect(codes()).toEqual(['HANDLED', 'ERR_BODY_TOO_LARGE'])
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
    ['a promise of a text', async () => '{"Id":"7"}', 'ERR_BODY_ALREADY_READ'],
    ['a promise of a parsed body', async () => ({ Id: '7' }), 'ERR_BODY_ALREADY_READ'],
    ['too many bytes', new Uint8Array(2_000), 'ERR_BODY_TOO_LARGE'],
    ['a promise that is never settled', () => deferred().promise, 'ERR_BODY_TIMEOUT'],
  ])('answers, and does not reject, when the body is %s', async (_what, body, code) => {
    const { receiver } = run({ maxBodyBytes: 1_000, bodyTimeoutMs: 20 })
    const headers = { 'Content-Length': null }
    const request = plain(genuine({ headers }), body as PlainRequest['body'])
    expect((await receiver.receive(request)).outcome.code).toBe(code)
  })

  it('takes a stream that has ended without a byte for an empty body', async () => {
    const { receiver } = run()
    const stream = Readable.from([]).resume()
    await finished(stream)
    const { outcome } = await receiver.receive(plain(genuine({ body: '' }), () => stream))
    expect(outcome.code).toBe('ERR_BODY_NOT_JSON')
  })

  const FORMS =
    'pass the bytes as they arrived, or a function that returns bytes, a stream of bytes or a promise of bytes. In Fastify ' +
    'register the plugin of countersign/fastify; in Express mount receiver.middleware() before express.json(); on AWS Lambda ' +
    "pass Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')"

  it.each<[string, unknown, string]>([
    ['text', '{"Id":"7"}', `body is of type string: ${FORMS}`],
    ['a parsed body', { Id: '7' }, `body is of type object: ${FORMS}`],
    ['nothing', undefined, `body is undefined: ${FORMS}`],
    [
      'a function that returns text',
      () => '{}',
      `what the function body returned is of type string: ${FORMS}`,
    ],
    [
      'a promise of a parsed body',
      async () => ({ Id: '7' }),
      `what the function body returned has a piece that is not a Uint8Array, such as a decoded text: ${FORMS}`,
    ],
    [
      'a stream that other code has read',
      readStream,
      'what the function body returned was read before, or is being read, by other code, so the signed bytes are gone: ' +
        'pass the stream before other code reads it, or pass the bytes that were read',
    ],
  ])('says in the log what is wrong with %s, and answers 503', async (_what, body, reason) => {
    const log = collectedLog()
    const { receiver } = run({ logger: log })
    const { status, headers, outcome } = await receiver.receive(
      plain(genuine(), body as PlainRequest['body']),
    )
    expect([status, headers['Retry-After']]).toEqual([503, '10'])
    expect(outcome.reason).toBe(`receiver.receive: ${reason}`)
    expect(log.lines).toMatchObject([
      { level: 'error', fields: { code: 'ERR_BODY_ALREADY_READ', reason: outcome.reason, verified: false } },
    ])
  })

  const error = new Error('no source')
  const fails = () => {
    throw error
  }

  it.each<[string, () => unknown]>([
    ['a function that throws', fails],
    ['a promise that rejects', () => Promise.reject(error)],
    ['an iterator that throws', () => ({ [Symbol.asyncIterator]: fails })],
    [
      'an iterator that throws after its first piece',
      async function* () {
        yield Buffer.of(1)
        fails()
      },
    ],
  ])('logs what %s threw, and tells the sender to come back', async (_what, body) => {
    const log = collectedLog()
    const onError = jest.fn()
    const { receiver } = run({ logger: log })
    receiver.onError(onError)
    const { status, headers } = await receiver.receive(plain(genuine(), body as PlainRequest['body']))
    expect([status, headers['Retry-After']]).toEqual([503, '10'])
    expect(log.withCode('ERR_BODY_SOURCE_FAILED')).toMatchObject([{ fields: { err: error } }])
    // A sender that closes its connection can make a promise of the body reject, and must not raise an alarm.
    expect(onError).not.toHaveBeenCalled()
  })

  const failedBefore = new Readable({ read() {} }).on('error', () => {}).destroy(error)
  it.each<[string, () => unknown]>([
    ['a Node stream', () => new Readable({ read() { this.destroy(error) } })], // prettier-ignore
    ['a Node stream that had failed before', () => failedBefore],
    ['a web stream', () => new ReadableStream({ pull: (controller) => controller.error(error) })],
  ])('logs the error of %s, which may be that the sender has closed the connection', async (_what, body) => {
    const log = collectedLog()
    const { receiver } = run({ logger: log })
    const { status } = await receiver.receive(plain(genuine(), body as PlainRequest['body']))
    expect(status).toBe(400)
    const reason =
      'receiver.receive: what the function body returned failed: the sender closed the connection, or err says why'
    expect(log.withCode('ERR_BODY_ABORTED')).toMatchObject([
      { level: 'warn', fields: { reason, err: error } },
    ])
  })
})

function readStream(): Readable {
  const stream = Readable.from([Buffer.of(1)])
  stream.read()
  return stream
}
