import express5 from 'express'
import express4 from 'express4'
import { captureRawBody, createReceiver, verifySignature, type CallbackEvent } from '../../src/index.js'
import type { BodyLimitOptions } from '../../src/http/body-limits.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import type { SignedCallback } from '../../src/testing/signed-callback.js'
import { collectedLog } from '../support/collected-log.js'
import { connection } from '../support/connection.js'
import { serve } from '../support/hosts.js'
import { editHead, withHeader } from '../support/http-bytes.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'

const subscriptions = [subscription]

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('in %s', (_name, express) => {
  async function post(app: express5.Express, request: SignedCallback | Uint8Array = genuine()) {
    const bytes = 'toHttp' in request ? request.toHttp() : request
    const { status, headers, body } = await sendRawRequest(bytes, { port: await serve(app) })
    return { status, headers, text: body.toString() }
  }

  describe('captureRawBody()', () => {
    const app = () =>
      express()
        .use(captureRawBody({ maxBodyBytes: 100, logger: false }))
        .post('/hooks/transfers', (request, response) => {
          response.send({ raw: (request as { rawBody?: Buffer }).rawBody?.toString('hex') })
        })

    it('keeps the bytes of the body', async () => {
      const callback = genuine({ body: Buffer.from('00ff', 'hex') })
      const { text } = await post(app(), callback)
      expect(JSON.parse(text)).toEqual({ raw: '00ff' })
    })

    it('verifies nothing', async () => {
      expect(await post(app(), withHeader(genuine().toHttp(), 'Authorization', FORGED))).toMatchObject({
        status: 200,
      })
    })

    it.each([
      ['without credentials', { Authorization: null }, 401],
      ['with too large a body', { 'Content-Length': '101' }, 413],
      ['with a compressed body', { 'Content-Encoding': 'gzip' }, 415],
    ])('refuses a callback %s, and logs why', async (_which, headers, status) => {
      const log = collectedLog()
      const refusing = express().use(captureRawBody({ maxBodyBytes: 100, logger: log, bodyTimeoutMs: 50 }))
      expect(await post(refusing, genuine({ headers }))).toMatchObject({ status })
      expect(log.lines).toMatchObject([{ fields: { status } }])
    })
  })

  it.each([
    ['captureRawBody()', (limits: BodyLimitOptions) => captureRawBody({ ...limits, logger: false })],
    [
      'verifySignature()',
      (limits: BodyLimitOptions) => verifySignature({ subscriptions, ...limits, logger: false }),
    ],
  ])('%s holds a body to its own limits', async (_which, middleware) => {
    const limited = () => express().use(middleware({ maxBodyBytes: 100, bodyTimeoutMs: 50 }))
    expect(await post(limited(), genuine({ body: 'x'.repeat(101) }))).toMatchObject({ status: 413 })
    expect(await post(limited(), genuine().toHttp().subarray(0, -1))).toMatchObject({ status: 408 })
    const { socket, received, closed } = await connection(await serve(limited()))
    socket.write(
      genuine({ headers: { Authorization: null } })
        .toHttp()
        .subarray(0, -1),
    )
    // Nothing more comes, and it is not waited for any longer.
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 401 /)
  })

  describe('verifySignature()', () => {
    const app = (...ahead: express5.RequestHandler[]) => {
      const events: (CallbackEvent | undefined)[] = []
      const mounted = express()
      if (ahead.length > 0) mounted.use(...ahead)
      mounted.post(
        '/hooks/transfers',
        verifySignature({ subscriptions, logger: false }),
        (request, response) => {
          events.push(request.event)
          response.sendStatus(204)
        },
      )
      return { mounted, events }
    }

    it('puts the verified event on the request', async () => {
      const { mounted, events } = app()
      const signedAt = new Date(Math.floor(Date.now() / 1000) * 1000)
      const key = 'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6'
      const callback = genuine({ payload: { Id: '7' }, idempotencyKey: key, timestamp: signedAt })

      expect(await post(mounted, callback)).toMatchObject({ status: 204 })
      expect(events).toMatchObject([
        {
          type: 'transfers.book-completed',
          payload: { Id: '7' },
          idempotencyKey: key.toLowerCase(),
          signedAt,
          receivedAt: expect.any(Date),
          rawBody: callback.body,
          subscription: {
            eventTypeName: subscription.eventTypeName,
            callbackUrl: subscription.callbackUrl,
          },
        },
      ])
      expect(events[0]?.subscription).not.toHaveProperty('secret')
    })

    it('takes the bytes that captureRawBody() kept', async () => {
      const { mounted, events } = app(captureRawBody({ logger: false }))
      expect(await post(mounted)).toMatchObject({ status: 204 })
      expect(events).toHaveLength(1)
    })

    it('lets nothing forged through', async () => {
      const { mounted, events } = app()
      const forged = withHeader(genuine().toHttp(), 'Authorization', FORGED)
      expect(await post(mounted, forged)).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'HMAC-SHA256' },
        text: '{"type":"about:blank","title":"Unauthorized","status":401}',
      })
      expect(events).toEqual([])
    })

    it.each([
      ['under the name of another event type', { eventType: 'accounts.closed' }, 401],
      ['too old', { timestamp: new Date(Date.now() - 86_405_000) }, 401],
      ['that is not JSON', { body: 'x' }, 400],
      ['without a key', { headers: { 'X-Idempotency-Key': null } }, 400],
    ])('lets no genuine callback %s through', async (_which, options, status) => {
      const { mounted, events } = app()
      expect(await post(mounted, genuine(options))).toMatchObject({ status })
      expect(events).toEqual([])
    })

    it('passes what the route behind it throws on to Express', async () => {
      const mounted = express()
      mounted.post('/hooks/transfers', verifySignature({ subscriptions, logger: false }), () => {
        throw Object.assign(new Error('mine'), { status: 418 })
      })
      mounted.use(((error, _request, response, _next) => {
        response.status(error.status).send(error.message)
      }) satisfies express5.ErrorRequestHandler)
      expect(await post(mounted)).toMatchObject({ status: 418, text: 'mine' })
    })

    it.each([
      [
        'what was verified of a callback that it refuses',
        { subscriptions },
        { eventType: 'accounts.closed' },
        { verified: true, subscription: { eventTypeName: subscription.eventTypeName } },
      ],
      [
        'what kept the subscriptions from being found',
        { subscriptions: () => Promise.reject(new Error('away')) },
        {},
        { status: 503, err: { message: 'away' } },
      ],
    ])('logs %s', async (_what, options, callback, fields) => {
      const log = collectedLog()
      await post(express().use(verifySignature({ ...options, logger: log })), genuine(callback))
      expect(log.lines).toMatchObject([{ fields }])
    })

    it('passes on to Express what should not have been thrown', async () => {
      const clock = () => {
        throw new Error('stopped')
      }
      const mounted = express().use(verifySignature({ subscriptions, clock, logger: false }))
      mounted.use(((error, _request, response, _next) => {
        response.status(418).send(error.message)
      }) satisfies express5.ErrorRequestHandler)
      expect(await post(mounted)).toMatchObject({ status: 418, text: 'stopped' })
    })

    it('finds that express.json() ran ahead of it', async () => {
      const log = collectedLog()
      const mounted = express().use(express.json(), verifySignature({ subscriptions, logger: log }))
      expect(await post(mounted)).toMatchObject({ status: 503 })
      expect(log.lines[0]?.fields).toMatchObject({ code: 'ERR_BODY_ALREADY_READ' })
    })
  })

  describe('the receiver', () => {
    const middleware = () =>
      createReceiver({ subscriptions, logger: false })
        .onAny(() => {})
        .middleware()

    it('works wherever it is mounted, as what is signed is the subscribed URL', async () => {
      const router = express.Router().post('/transfers', middleware())
      expect(await post(express().use('/hooks', router))).toMatchObject({ status: 200 })
      expect(await post(express().use('/hooks/transfers', middleware()))).toMatchObject({ status: 200 })
      expect(await post(express().use(middleware()))).toMatchObject({ status: 200 })
      const inner = express().post('/transfers', middleware())
      expect(await post(express().use('/hooks', inner))).toMatchObject({ status: 200 })
    })

    it('works behind proxies that rewrite path, Host and scheme', async () => {
      const callback = genuine({
        headers: {
          'X-Forwarded-Host': 'evil.example',
          'X-Forwarded-Proto': 'http',
          'X-Forwarded-Prefix': '/other',
          Forwarded: 'host=evil.example',
          'X-Original-URL': '/elsewhere',
        },
      })
      const rewritten = callback.toHttp({ host: 'internal:8080', path: '/in/here?x=1' })
      expect(await post(express().use(middleware()), rewritten)).toMatchObject({ status: 200 })
    })

    it('is not bent by a Host or path that would fit another signature', async () => {
      const other = { ...subscription, callbackUrl: 'https://evil.example/hooks/transfers' }
      const callback = genuine({ subscription: other, headers: { 'X-Forwarded-Host': 'evil.example' } })
      expect(await post(express().use(middleware()), callback)).toMatchObject({ status: 401 })
    })

    it('gives the path as the sender wrote it to the subscriptions function', async () => {
      const paths: string[] = []
      const receiver = createReceiver({
        subscriptions({ path }) {
          paths.push(path)
          return subscriptions
        },
      }).onAny(() => {})
      await post(express().use('/hooks', receiver.middleware()), genuine().toHttp({ path: '/hooks/a?b=c' }))
      expect(paths).toEqual(['/hooks/a?b=c'])
    })

    it('says so when the call was forgotten', async () => {
      const receiver = createReceiver({ subscriptions, logger: false })
      const errors: unknown[] = []
      const keep: express5.ErrorRequestHandler = (error, _request, response, _next) => {
        errors.push(error)
        response.sendStatus(500)
      }
      const forgotten = [receiver.middleware, captureRawBody, verifySignature] as unknown[]
      for (const factory of forgotten as express5.RequestHandler[]) {
        expect(await post(express().use(factory, keep))).toMatchObject({ status: 500 })
      }
      expect(errors).toMatchObject(
        ['receiver.middleware', 'captureRawBody', 'verifySignature'].map((name) => ({
          code: 'ERR_OPTION_INVALID',
          owner: name,
          option: 'options',
          message: `${name} was mounted without being called. Write ${name}() with parentheses.`,
        })),
      )
    })

    it('refuses options, which createReceiver takes', () => {
      const receiver = createReceiver({ subscriptions, logger: false })
      expect(() => receiver.middleware({ maxBodyBytes: 5 } as never)).toThrow(
        expect.objectContaining({
          code: 'ERR_OPTION_INVALID',
          owner: 'receiver.middleware',
          message: expect.stringContaining('createReceiver takes the options'),
        }),
      )
    })

    it('has a name in stack traces', () => {
      expect(middleware().name).toBe('countersignReceiver')
      expect(verifySignature({ subscriptions, logger: false }).name).toBe('countersignVerifySignature')
      expect(captureRawBody().name).toBe('countersignCaptureRawBody')
    })

    it('answers only once where something else has answered already', async () => {
      let endAnswer: (() => void) | undefined
      const receiver = createReceiver({ subscriptions, logger: false }).onOutcome(() => endAnswer?.())
      const app = express().use((_request, response, next) => {
        response.status(202).write('mine')
        endAnswer = () => response.end()
        next()
      }, receiver.middleware())
      expect(await post(app)).toMatchObject({ status: 202, text: 'mine' })
    })
  })

  it('refuses what is no HTTP at all without asking the receiver', async () => {
    const app = express().use(createReceiver({ subscriptions, logger: false }).middleware())
    const nonsense = editHead(genuine().toHttp(), () => 'GET nonsense')
    expect(await post(app, nonsense)).toMatchObject({ status: 400 })
  })
})
