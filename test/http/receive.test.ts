import { Readable } from 'node:stream'
import type { Outcome, PlainRequest } from '../../src/index.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
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
