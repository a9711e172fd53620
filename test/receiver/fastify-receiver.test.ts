import { connect, type ClientHttp2Session } from 'node:http2'
import { Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import fastify5, { type FastifyInstance, type onRequestHookHandler } from 'fastify'
import fastify4 from 'fastify4'
import { fastifyReceiver } from '../../src/fastify.js'
import { createReceiver, MemoryInbox, type ReceiverOptions } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { deferred } from '../support/deferred.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const close: (() => unknown)[] = []
afterEach(() => Promise.all(close.splice(0).map((each) => each())))

describe.each([
  ['Fastify 5', fastify5],
  // What is used of it is the same.
  ['Fastify 4', fastify4 as unknown as typeof fastify5],
])('a receiver in %s', (_version, fastify) => {
  const receiverOf = (options: Partial<ReceiverOptions> = {}) => {
    const handler = jest.fn()
    const receiver = createReceiver({ subscriptions: [subscription], logger: false, ...options })
    return { receiver: receiver.on(subscription.eventTypeName, handler), handler }
  }
  const listening = async (app: FastifyInstance) => {
    close.push(() => app.close())
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
    return { port: Number(port), send: (request: Buffer) => sendRawRequest(request, { port: Number(port) }) }
  }
  const run = async (app: FastifyInstance, options?: Partial<ReceiverOptions>) => {
    const { receiver, handler } = receiverOf(options)
    await app.register(fastifyReceiver, { receiver, path: '/hooks/transfers' })
    return { receiver, handler, ...(await listening(app)) }
  }

  it('leaves other routes their parsers and their limit', async () => {
    const app = fastify({ bodyLimit: 1_000 })
    app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, body, done) => {
      done(null, String(body).split(','))
    })
    app.post('/others', async ({ body }) => ({ body }))
    const { port, send, handler } = await run(app)
    const others = async (type: string, body: string) => {
      const headers = { 'Content-Type': type }
      const response = await fetch(`http://127.0.0.1:${port}/others`, { method: 'POST', headers, body })
      return response.status === 200 ? ((await response.json()) as { body: unknown }).body : response.status
    }

    const large = genuine({ body: Buffer.from(JSON.stringify({ Id: 'x'.repeat(5_000) })) })
    expect(await send(large.toHttp())).toMatchObject({ status: 200 })
    expect(handler.mock.calls[0][0].rawBody).toEqual(large.body)
    expect(await others('application/json', '{"name":"Ada"}')).toEqual({ name: 'Ada' })
    expect(await others('text/csv', 'a,b')).toEqual(['a', 'b'])
    expect(await others('application/xml', '<a/>')).toBe(415)
    expect(await others('text/csv', 'a'.repeat(2_000))).toBe(413)
  })

  it('gets the bytes where the application replaces the bodies of all requests before they are parsed', async () => {
    const app = fastify()
    app.addHook('preParsing', async (_request, _reply, payload) =>
      payload.pipe(new Transform({ transform: (chunk, _encoding, done) => done(null, `${chunk} `) })),
    )
    const { send } = await run(app)
    expect(await send(genuine().toHttp())).toMatchObject({ status: 200 })
  })

  it.each(['text/csv', 'nonsense', null])(
    'takes a callback with the Content-Type %j',
    async (contentType) => {
      const { send } = await run(fastify())
      expect(await send(genuine({ headers: { 'Content-Type': contentType } }).toHttp())).toMatchObject({
        status: 200,
      })
    },
  )

  it('answers what is not a POST as every receiver does', async () => {
    const { port } = await run(fastify())
    const answers = ['GET', 'HEAD', 'PUT', 'OPTIONS'].map(async (method) => {
      const response = await fetch(`http://127.0.0.1:${port}/hooks/transfers`, { method })
      return [method, response.status, response.headers.get('allow')]
    })
    expect(await Promise.all(answers)).toEqual([
      ['GET', 405, 'POST'],
      ['HEAD', 405, 'POST'],
      ['PUT', 405, 'POST'],
      ['OPTIONS', 405, 'POST'],
    ])
  })

  it('lets hooks of the application run, before it and after the answer', async () => {
    const app = fastify()
    const statusCodes: number[] = []
    app.addHook('onRequest', async ({ id }, reply) => void reply.header('X-Request-Id', id))
    app.addHook('onResponse', async (_request, { statusCode }) => void statusCodes.push(statusCode))
    const { send } = await run(app)

    const headers = { 'x-request-id': expect.any(String) }
    expect(await send(genuine().toHttp())).toMatchObject({ status: 200, headers })
    expect(await send(genuine({ headers: { Authorization: FORGED } }).toHttp())).toMatchObject({
      status: 401,
      headers: {
        ...headers,
        'www-authenticate': 'HMAC-SHA256',
        'content-type': 'application/problem+json',
      },
    })
    await until(() => statusCodes.length === 2)
    expect(statusCodes).toEqual([200, 401])
  })

  it('is not reached by hooks of another context, nor by those that a later plugin adds to each route', async () => {
    const app = fastify()
    const { receiver } = receiverOf()
    const tooMany: onRequestHookHandler = (_request, reply) => void reply.code(429).send()
    await app.register(fastifyReceiver, { receiver, path: '/hooks/transfers' })
    app.addHook('onRoute', (route) => void (route.onRequest = [tooMany]))
    app.register(async (context) => {
      context.addHook('onRequest', tooMany)
      context.get('/others', async () => '')
    })
    const { port, send } = await listening(app)
    expect(await fetch(`http://127.0.0.1:${port}/others`)).toMatchObject({ status: 429 })
    expect(await send(genuine().toHttp())).toMatchObject({ status: 200 })
  })

  it('takes callbacks below the prefix of its registration', async () => {
    const app = fastify()
    const { receiver } = receiverOf()
    app.register(fastifyReceiver, { receiver, path: '/transfers', prefix: '/hooks' })
    const { port, send } = await listening(app)
    expect(await send(genuine().toHttp())).toMatchObject({ status: 200 })
    expect(await fetch(`http://127.0.0.1:${port}/transfers`)).toMatchObject({ status: 404 })
  })

  it('takes callbacks over HTTP/2', async () => {
    const app = fastify({ http2: true }) as unknown as FastifyInstance
    const { port } = await run(app)
    const client: ClientHttp2Session = connect(`http://127.0.0.1:${port}`)
    close.unshift(() => client.close())
    const { path, headers, body } = genuine({ headers: { Connection: null } })
    const stream = client.request({ ':method': 'POST', ':path': path, ...headers }).end(body)
    const status = new Promise((resolve) => stream.on('response', (head) => resolve(head[':status'])))
    expect(await status).toBe(200)
    expect(await text(stream)).toBe('')
  })

  it('is ready with the application, and closes the inbox with it', async () => {
    const inbox = new MemoryInbox()
    const app = fastify()
    const { receiver } = receiverOf({ inbox })
    await app.register(fastifyReceiver, { receiver, path: '/hooks/transfers' })
    expect(receiver.ready).toBe(false)
    await app.ready()
    expect(receiver.ready).toBe(true)
    await app.close()
    await expect(receiver.start()).rejects.toMatchObject({ code: 'ERR_STOPPED' })
  })

  it('answers the callback whose handler runs when the application closes', async () => {
    const finish = deferred()
    const app = fastify()
    const { send, handler } = await run(app)
    handler.mockImplementation(() => finish.promise)
    const answered = send(genuine().toHttp())
    await until(() => handler.mock.calls.length === 1)
    const closed = app.close()
    finish.resolve()
    expect(await answered).toMatchObject({ status: 200 })
    await closed
  })

  it.each<[string, object, string, string]>([
    ['no receiver', { receiver: undefined }, 'ERR_OPTION_INVALID', 'receiver'],
    ['no path', { path: undefined }, 'ERR_OPTION_INVALID', 'path'],
    ['a path without a slash', { path: 'hooks' }, 'ERR_OPTION_INVALID', 'path'],
    ['an unknown option', { route: '/' }, 'ERR_OPTION_UNKNOWN', 'route'],
  ])('refuses %s', async (_what, wrong, code, option) => {
    const app = fastify()
    app.register(fastifyReceiver, { receiver: receiverOf().receiver, path: '/', ...wrong })
    await expect(app.ready()).rejects.toMatchObject({ owner: 'fastifyReceiver', code, option })
  })
})
