import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import request from 'supertest'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { parseRecordedRequest } from '../../src/testing/recorded-requests.js'
import { signedCallback, type SignedCallback } from '../../src/testing/signed-callback.js'
import { anyText } from '../support/any-text.js'

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com:8443/hooks/transfers?tenant=42',
  secret: 's3cret~Text',
}

/** SERVICE 5.1, worked out here once more: sign and test must not be wrong together. */
function authorizationOf({ headers, body }: SignedCallback, secret = subscription.secret): string {
  const bodyHash = createHash('sha256').update(body).digest('base64')
  const text = `/hooks/transfers?tenant=42\n${headers['Authorization-Timestamp']};partner.example.com:8443;${bodyHash}`
  return `HMAC-SHA256 Signature=${createHmac('sha256', secret).update(text).digest('base64')}`
}

describe('a signed callback', () => {
  it('has what the service sends, freshly made', () => {
    const callback = signedCallback({ subscription })
    expect(callback).toMatchObject({
      method: 'POST',
      url: subscription.callbackUrl,
      path: '/hooks/transfers?tenant=42',
      headers: {
        'Content-Type': 'application/json',
        'X-Idempotency-Key': expect.stringMatching(UUID),
        'X-Event-Type': 'transfers.book-completed',
        'Authorization-Timestamp': expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
        Authorization: authorizationOf(callback),
      },
    })
    expect(JSON.parse(callback.body.toString())).toEqual({ Id: expect.stringMatching(UUID) })
  })

  it('is another one every time', () => {
    const [one, two] = [signedCallback({ subscription }), signedCallback({ subscription })]
    expect(one.idempotencyKey).toBe(one.headers['X-Idempotency-Key'])
    expect(one.idempotencyKey).not.toBe(two.idempotencyKey)
    expect(one.body).not.toEqual(two.body)
  })

  it('is signed for whatever body it is given', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), anyText()), (body) => {
        const callback = signedCallback({ subscription, body })
        expect(callback.body).toEqual(Buffer.from(body as string))
        expect(callback.headers['Authorization']).toBe(authorizationOf(callback))
      }),
    )
  })

  it('carries a payload as JSON, null included', () => {
    expect(signedCallback({ subscription, payload: { Id: 'ü' } }).body.toString()).toBe('{"Id":"ü"}')
    expect(signedCallback({ subscription, payload: null }).body.toString()).toBe('null')
  })

  it('keeps its own copy of the body', () => {
    const body = Buffer.from('{}')
    const callback = signedCallback({ subscription, body })
    body.fill('x')
    expect(callback.body.toString()).toBe('{}')
  })

  it('is signed with the first of several secrets', () => {
    const callback = signedCallback({ subscription: { ...subscription, secret: ['new', 'old'] } })
    expect(callback.headers['Authorization']).toBe(authorizationOf(callback, 'new'))
  })

  it('is signed at the moment given', () => {
    const callback = signedCallback({ subscription, timestamp: new Date('2026-11-03T09:14:27.999Z') })
    expect(callback.headers['Authorization-Timestamp']).toBe('Tue, 03 Nov 2026 09:14:27 GMT')
    expect(callback.headers['Authorization']).toBe(authorizationOf(callback))
  })

  it('is signed with the exact text of a timestamp', () => {
    const timestamp = 'Tuesday, 03-Nov-26 09:14:27 GMT'
    const callback = signedCallback({ subscription, timestamp })
    expect(callback.headers['Authorization-Timestamp']).toBe(timestamp)
    expect(callback.headers['Authorization']).toBe(authorizationOf(callback))
  })

  it('takes a key and an event type', () => {
    expect(signedCallback({ subscription, idempotencyKey: 'KEY', eventType: 'other' }).headers).toMatchObject(
      {
        'X-Idempotency-Key': 'KEY',
        'X-Event-Type': 'other',
      },
    )
  })

  it.each([
    ['both a payload and a body', { payload: {}, body: '{}' }, 'pass either payload or body'],
    ['a payload without a JSON form', { payload: () => {} }, 'payload of type function has no JSON form'],
    ['a timestamp that is no HTTP date', { timestamp: '2026-11-03T09:14:27Z' }, 'must be a valid Date'],
    ['an invalid Date', { timestamp: new Date(Number.NaN) }, 'must be a valid Date'],
    ['a line end in a header', { idempotencyKey: 'a\r\nb' }, 'X-Idempotency-Key'],
    ['an empty list of secrets', { subscription: { ...subscription, secret: [] } }, 'secret must be'],
  ])('refuses %s', (_, options, message) => {
    expect(() => signedCallback({ subscription, ...options })).toThrow(message)
  })
})

describe('options of the wrong type', () => {
  const { secret: _, ...withoutSecret } = subscription
  it.each([
    ['no options', undefined, 'ERR_OPTION_INVALID', 'options'],
    ['no subscription', {}, 'ERR_OPTION_INVALID', 'subscription'],
    [
      'a subscription that is a text',
      { subscription: subscription.secret },
      'ERR_OPTION_INVALID',
      'subscription',
    ],
    [
      'a subscription without a type',
      { subscription: { ...subscription, eventTypeName: undefined } },
      'ERR_OPTION_INVALID',
      'subscription',
    ],
    ['a subscription without a secret', { subscription: withoutSecret }, 'ERR_SECRET_INVALID', undefined],
    ['both a payload and a body', { subscription, payload: {}, body: '{}' }, 'ERR_OPTION_INVALID', 'payload'],
    ['a payload without a JSON form', { subscription, payload: () => {} }, 'ERR_OPTION_INVALID', 'payload'],
    ['a payload with a BigInt', { subscription, payload: { n: 7n } }, 'ERR_OPTION_INVALID', 'payload'],
    ['a body that is not a text', { subscription, body: 7 }, 'ERR_OPTION_INVALID', 'body'],
    ['a misspelled option', { subscription, paylaod: {} }, 'ERR_OPTION_UNKNOWN', 'paylaod'],
  ])('are refused with a code: %s', (_name, options, code, option) => {
    const thrown = catchOf(() => signedCallback(options as never))
    expect(thrown).toMatchObject({ code, ...(option && { option }) })
    expect(String(thrown)).not.toContain(subscription.secret)
  })
})

function catchOf(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

describe('further headers', () => {
  it('are added', () => {
    expect(signedCallback({ subscription, headers: { 'X-More': '1' } }).headers['X-More']).toBe('1')
  })

  it('replace a header in whatever case, after signing', () => {
    const { headers } = signedCallback({ subscription, headers: { AUTHORIZATION: 'Bearer abc' } })
    expect(headers['AUTHORIZATION']).toBe('Bearer abc')
    expect(headers).not.toHaveProperty('Authorization')
  })

  it('remove a header with null and leave it with undefined', () => {
    const { headers } = signedCallback({
      subscription,
      headers: { 'x-event-type': null, 'x-idempotency-key': undefined },
    })
    expect(headers).not.toHaveProperty('X-Event-Type')
    expect(headers['X-Idempotency-Key']).toMatch(UUID)
  })

  it('can lie about the length on the wire', () => {
    const callback = signedCallback({ subscription, body: '{}', headers: { 'content-length': '3' } })
    expect(callback.toHttp().toString()).toMatch(/\r\ncontent-length: 3\r\n/)
    expect(callback.toHttp().toString()).not.toContain('Content-Length')
  })

  it('can take Host away on the wire', () => {
    expect(
      signedCallback({ subscription, headers: { host: null } })
        .toHttp()
        .toString(),
    ).not.toMatch(/^host:/im)
  })

  it('can repeat a header on the wire', () => {
    const callback = signedCallback({ subscription, headers: { 'X-A': '1', 'x-a': '2' } })
    expect(callback.toHttp().toString()).toContain('\r\nX-A: 1\r\nx-a: 2\r\n')
  })
})

describe('as an HTTP request', () => {
  it('is the exact bytes', () => {
    const callback = signedCallback({ subscription, body: '{"Id":"ü"}', idempotencyKey: 'KEY' })
    expect(callback.toHttp().toString()).toBe(
      [
        'POST /hooks/transfers?tenant=42 HTTP/1.1',
        'Host: partner.example.com:8443',
        'Content-Length: 11',
        'Content-Type: application/json',
        'X-Idempotency-Key: KEY',
        'X-Event-Type: transfers.book-completed',
        `Authorization-Timestamp: ${callback.headers['Authorization-Timestamp']}`,
        `Authorization: ${callback.headers['Authorization']}`,
        '',
        '{"Id":"ü"}',
      ].join('\r\n'),
    )
  })

  it('has the Host and the path that a proxy would have left', () => {
    const http = signedCallback({ subscription }).toHttp({ host: 'internal:8080', path: '/in' }).toString()
    expect(http).toMatch(/^POST \/in HTTP\/1\.1\r\nHost: internal:8080\r\n/)
  })

  it.each([
    [true, '5\r\nhello\r\n0\r\n\r\n'],
    [[1, 3], '1\r\nh\r\n3\r\nell\r\n1\r\no\r\n0\r\n\r\n'],
    [[2, 3], '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'],
    [[2, 99, 99], '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'],
  ])('is chunked as %j says', (chunked, body) => {
    const http = signedCallback({ subscription, body: 'hello' }).toHttp({ chunked }).toString()
    expect(http).toContain('\r\nTransfer-Encoding: chunked\r\n')
    expect(http).not.toContain('Content-Length')
    expect(http.slice(http.indexOf('\r\n\r\n') + 4)).toBe(body)
  })

  it.each<[object, string, string]>([
    [{ chunked: [1, 0] }, 'ERR_OPTION_INVALID', 'chunked[1] is 0: use true, false, or a list'],
    [{ chunked: [-1] }, 'ERR_OPTION_INVALID', 'chunked[0] is -1'],
    [{ chunked: [1.5] }, 'ERR_OPTION_INVALID', 'chunked[0] is 1.5'],
    [{ chunked: [NaN] }, 'ERR_OPTION_INVALID', 'chunked[0] is NaN'],
    [{ chunked: [undefined] }, 'ERR_OPTION_INVALID', 'chunked[0] is undefined'],
    [{ chunked: 5 }, 'ERR_OPTION_INVALID', 'chunked is 5'],
    [{ chunk: [1] }, 'ERR_OPTION_UNKNOWN', 'has no option "chunk"'],
  ])('refuses %j', (options, code, problem) => {
    const callback = signedCallback({ subscription })
    const message = expect.stringContaining(problem) as string
    expect(() => callback.toHttp(options)).toThrow(expect.objectContaining({ code, message }))
  })

  it('reads back as what was put in', () => {
    const anyChunks = fc.oneof(fc.boolean(), fc.array(fc.integer({ min: 1, max: 40 })))
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), anyChunks, (body, chunked) => {
        const callback = signedCallback({ subscription, body })
        const parsed = parseRecordedRequest(callback.toHttp({ chunked }))
        expect(parsed).toMatchObject({ method: 'POST', target: callback.path, httpVersion: '1.1' })
        expect(parsed.body).toEqual(callback.body)
        expect(parsed.rawHeaders.slice(4)).toEqual(Object.entries(callback.headers).flat())
      }),
    )
  })
})

describe('over the network', () => {
  let server: Server
  let port: number
  const listener: RequestListener = async (req, res) => res.end(JSON.stringify(await arrived(req)))

  beforeAll(async () => {
    server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))

  async function arrived(req: IncomingMessage) {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const { authorization, 'x-idempotency-key': key } = req.headers
    return { path: req.url, authorization, key, body: Buffer.concat(chunks).toString('base64') }
  }

  function sent({ path, headers, body }: SignedCallback) {
    const { Authorization: authorization, 'X-Idempotency-Key': key } = headers
    return { path, authorization, key, body: body.toString('base64') }
  }

  it('arrives with fetch', async () => {
    const callback = signedCallback({ subscription, payload: { Id: 'Grüße' } })
    const response = await fetch(`http://127.0.0.1:${port}${callback.path}`, callback)
    expect(await response.json()).toEqual(sent(callback))
  })

  it('arrives with supertest', async () => {
    const callback = signedCallback({ subscription, payload: { Id: 'Grüße' } })
    const response = await request(listener)
      .post(callback.path)
      .set(callback.headers)
      .send(callback.body.toString())
    expect(JSON.parse(response.text)).toEqual(sent(callback))
  })

  it.each([false, true, [1, 2, 3]])('arrives byte for byte, chunked %j', async (chunked) => {
    const callback = signedCallback({ subscription, body: Buffer.from([0, 255, 13, 10, 0x80, 34]) })
    const { body } = await sendRawRequest(callback.toHttp({ chunked }), { port })
    expect(JSON.parse(body.toString())).toEqual(sent(callback))
  })
})
