import type { ServerResponse } from 'node:http'
import type { Fetch } from '../../src/client/index.js'
import { silentLogger } from '../../src/logging/logger.js'
import { fakeTimeouts } from '../support/fake-timeouts.js'
import { until } from '../support/until.js'
import { clientOf, json, rejection, startService, tokenBody, type Answer } from './service.js'

const update = (service: Awaited<ReturnType<typeof startService>>, options = {}) =>
  clientOf(service, options).accounts.update('4711', { name: 'x' })

const bodied =
  (body: string | Buffer, headers = {}): Answer =>
  (response) =>
    response.writeHead(200, headers).end(body)

describe('an answer', () => {
  it.each([200, 201, 204, 302, 304, 400, 403, 404, 409, 422])('with %i is handed over', async (status) => {
    const service = await startService({ api: (response) => response.writeHead(status, { A: 'b' }).end() })
    expect(await update(service)).toMatchObject({
      status,
      ok: status < 300,
      headers: { a: 'b' },
      body: undefined,
    })
    expect(service.apiRequests).toHaveLength(1)
  })

  it.each<[string, string | Buffer, unknown, object?]>([
    ['JSON', '{"a":[1,null]}', { a: [1, null] }],
    ['JSON under another Content-Type', '{"a":1}', { a: 1 }, { 'Content-Type': 'text/plain' }],
    ['JSON behind a byte order mark', '\ufeff{"a":1}', { a: 1 }],
    ['text', 'gone fishing', 'gone fishing'],
    ['text under a Content-Type of JSON', '<html>', '<html>', { 'Content-Type': 'application/json' }],
    ['half of JSON', '{"a":', '{"a":'],
    ['nothing', '', undefined],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff]), 'a\ufffd'],
  ])('with %s as its body', async (_what, sent, body, headers = {}) => {
    const service = await startService({ api: bodied(sent, headers) })
    expect((await update(service)).body).toEqual(body)
  })

  it('shows a repeated header once, with all of its values', async () => {
    const service = await startService({
      api: (response) => response.writeHead(200, { 'Set-Cookie': ['a=1', 'b=2'], Via: ['x', 'y'] }).end(),
    })
    expect((await update(service)).headers).toMatchObject({ 'set-cookie': 'a=1, b=2', via: 'x, y' })
  })

  it('that redirects is handed over, and nothing is sent elsewhere', async () => {
    const elsewhere = await startService()
    const service = await startService({
      api: (response) => response.writeHead(307, { Location: `${elsewhere.baseUrl}/x` }).end(),
    })
    expect(await update(service)).toMatchObject({ status: 307, ok: false })
    expect(elsewhere.apiRequests).toEqual([])
  })

  it('of exactly 1 MiB is read', async () => {
    const service = await startService({ api: bodied('x'.repeat(1_048_576)) })
    expect((await update(service)).body).toHaveLength(1_048_576)
  })

  it('that goes on for ever is left at 1 MiB, and not asked for again', async () => {
    let answering: ServerResponse | undefined
    const service = await startService({
      api(response) {
        answering = response
        const write = () => {
          while (response.write('x'.repeat(65_536)));
          response.once('drain', write)
        }
        write()
      },
    })
    const error = await rejection(update(service))
    expect(error).toMatchObject({ code: 'ERR_SERVICE_RESPONSE' })
    expect(error.message).toContain('1048576 bytes')
    expect(service.apiRequests).toHaveLength(1)
    if (!answering!.destroyed) await new Promise((resolve) => answering!.once('close', resolve))
  })

  it('that breaks off half way is none', async () => {
    const service = await startService({
      api(response, { socket }) {
        response.writeHead(200, { 'Content-Length': 10 })
        response.write('{"a":', () => socket.destroy())
      },
    })
    const error = await rejection(update(service))
    expect(error).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE' })
    expect(service.apiRequests).toHaveLength(3)
  })

  it('that is not HTTP is none', async () => {
    const service = await startService({ api: (_response, { socket }) => socket.end('SSH-2.0-x\r\n') })
    expect(await rejection(update(service))).toMatchObject({ code: 'ERR_SERVICE_UNREACHABLE' })
  })

  it('that does not come is waited for in each attempt, and no longer', async () => {
    const service = await startService({ api: () => {} })
    // So that the token comes in time.
    const pass = fakeTimeouts()
    const ended = rejection(update(service, { timeoutMs: 50, maxAttempts: 2 }))
    for (const attempt of [1, 2]) {
      await until(() => service.apiRequests.length === attempt)
      await pass(50)
    }
    const error = await ended
    expect(error).toMatchObject({ code: 'ERR_SERVICE_TIMEOUT' })
    expect(error.message).toContain('timeoutMs (50)')
    expect(service.apiRequests).toHaveLength(2)
  })

  it('of which only the head comes is waited for no longer', async () => {
    const service = await startService({
      api: (response) => response.writeHead(200, { 'Content-Length': 10 }).flushHeaders(),
    })
    const error = await rejection(update(service, { timeoutMs: 50, maxAttempts: 1 }))
    expect(error).toMatchObject({ code: 'ERR_SERVICE_TIMEOUT' })
  })
})

describe('a fetch of somebody else', () => {
  it('that never ends is not waited for', async () => {
    const options = { fetch: () => new Promise<never>(() => {}), timeoutMs: 20, maxAttempts: 2 }
    expect(await rejection(update(await startService(), options))).toMatchObject({
      code: 'ERR_SERVICE_TIMEOUT',
    })
  })

  it('whose body never ends is not waited for, and told so', async () => {
    let cancelled = 0
    const body = () => new ReadableStream({ cancel: () => void cancelled++ })
    const options = { fetch: async () => new Response(body()), timeoutMs: 20, maxAttempts: 2 }
    expect(await rejection(update(await startService(), options))).toMatchObject({
      code: 'ERR_SERVICE_TIMEOUT',
    })
    expect(cancelled).toBe(2)
  })

  it('whose answer comes too late has its body let go', async () => {
    const late: (() => void)[] = []
    let cancelled = 0
    const fetch = () =>
      new Promise<Response>((resolve) =>
        late.push(() => resolve(new Response(new ReadableStream({ cancel: () => void cancelled++ })))),
      )
    await rejection(update(await startService(), { fetch, timeoutMs: 20, maxAttempts: 1 }))
    late[0]!()
    await until(() => cancelled === 1)
  })

  it('may be the one of Node', async () => {
    const service = await startService()
    expect(await update(service, { fetch: globalThis.fetch })).toMatchObject({ status: 200, body: {} })
  })

  it('is what is used, and nothing else', async () => {
    const service = await startService()
    const asked: string[] = []
    const fetch: Fetch = async (url, { method, redirect }) => {
      asked.push(`${method} ${url.slice(service.baseUrl.length)} ${redirect}`)
      return Response.json(tokenBody('t'))
    }
    await update(service, { fetch })
    expect(asked).toEqual(['POST /security/v1/oauth2/token manual', 'PUT /accounts/v1/4711 manual'])
    expect([...service.tokenRequests, ...service.apiRequests]).toEqual([])
  })
})

describe('a request', () => {
  it('neither fails nor is repeated because the logger throws', async () => {
    const service = await startService()
    const logger = {
      ...silentLogger,
      debug: (fields: object) => {
        if ('method' in fields && fields.method === 'PUT') throw new Error('disk full')
      },
    }
    expect(await update(service, { logger })).toMatchObject({ status: 200 })
    expect(service.apiRequests).toHaveLength(1)
  })

  it.each([429, 500, 502, 503, 504])(
    'is repeated after %i, and then the last answer handed over',
    async (status) => {
      const service = await startService({
        api: (response, _request, count) => json(response, status, { count }),
      })
      expect(await update(service, { maxAttempts: 4 })).toMatchObject({ status, body: { count: 4 } })
      expect(service.apiRequests).toHaveLength(4)
    },
  )

  it('is sent once when maxAttempts is 1', async () => {
    const service = await startService({ api: (response) => json(response, 503, {}) })
    expect(await update(service, { maxAttempts: 1 })).toMatchObject({ status: 503 })
    expect(service.apiRequests).toHaveLength(1)
  })

  it.each([
    ['seconds', '31'],
    ['a number beyond all numbers', '9'.repeat(400)],
    ['a date', 'Tue, 03 Nov 2026 09:15:00 GMT'],
  ])(
    'is not repeated where Retry-After asks for more patience than there is, as %s',
    async (_form, retryAfter) => {
      const date = 'Tue, 03 Nov 2026 09:14:00 GMT'
      const service = await startService({
        api: (response) => json(response, 429, {}, { 'Retry-After': retryAfter, Date: date }),
      })
      expect(await update(service)).toMatchObject({ status: 429, headers: { 'retry-after': retryAfter } })
      expect(service.apiRequests).toHaveLength(1)
    },
  )

  it('is repeated with another token after 401, once', async () => {
    const service = await startService({ api: (response) => json(response, 401, {}) })
    expect(await update(service)).toMatchObject({ status: 401 })
    expect(service.apiRequests.map(({ headers }) => headers.authorization)).toEqual(
      service.tokens.map((token) => `Bearer ${token}`),
    )
    expect(service.tokens).toHaveLength(2)
  })

  it('counts the repetition after 401 to no attempt', async () => {
    const service = await startService({
      api: (response, _request, count) => json(response, count === 1 ? 401 : 200, {}),
    })
    expect(await update(service, { maxAttempts: 1 })).toMatchObject({ status: 200 })
  })

  it('is sent at most once more than maxAttempts says, whatever is answered', async () => {
    const service = await startService({
      api: (response, _request, count) => json(response, [401, 503, 401, 503, 401][count - 1] ?? 503, {}),
    })
    await update(service, { maxAttempts: 3 })
    expect(service.apiRequests.length).toBeLessThanOrEqual(4)
  })

  it('takes the token that somebody else has fetched in between', async () => {
    const service = await startService({
      api: (response, { headers }) =>
        json(response, headers.authorization === `Bearer ${service.tokens[0]}` ? 401 : 200, {}),
    })
    const client = clientOf(service)
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) => client.accounts.update(`${index}`, { name: 'x' })),
    )
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([200]))
    expect(service.tokens).toHaveLength(2)
  })

  it('is not sent at all without a token, and the reason is told', async () => {
    const service = await startService({ token: (response) => json(response, 400, {}) })
    expect(await rejection(update(service))).toMatchObject({ code: 'ERR_TOKEN_REFUSED' })
    expect(service.tokenRequests).toHaveLength(1)
    expect(service.apiRequests).toEqual([])
  })

  it('does not multiply the attempts for a token by its own', async () => {
    const service = await startService({ token: (response) => json(response, 503, {}) })
    expect(await rejection(update(service))).toMatchObject({ code: 'ERR_SERVICE_RESPONSE', status: 503 })
    expect(service.tokenRequests).toHaveLength(3)
  })

  it('goes with a token of its own where tokens have no lifetime', async () => {
    const service = await startService({
      token: (response, _request, count) => json(response, 200, tokenBody(`t-${count}`, 0)),
    })
    const client = clientOf(service)
    await client.accounts.update('1', { name: 'x' })
    await client.accounts.update('2', { name: 'x' })
    expect(service.apiRequests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer t-1',
      'Bearer t-2',
    ])
  })

  it('goes over a connection that is there', async () => {
    const service = await startService()
    const client = clientOf(service)
    for (let id = 1; id <= 10; id++) await client.accounts.update(`${id}`, { name: 'x' })
    const sockets = new Set([...service.tokenRequests, ...service.apiRequests].map(({ socket }) => socket))
    // Two: undici only counts a connection as free one turn after the answer has been read.
    expect(sockets.size).toBeLessThanOrEqual(2)
  })
})
