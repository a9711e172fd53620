import { captureRawBody, createReceiver, verifySignature, type Outcome } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { collectedLog } from '../support/collected-log.js'
import { serve } from '../support/hosts.js'
import { FORGED, genuine, subscription } from '../support/running-receiver.js'
import { until } from '../support/until.js'

const options = { subscriptions: [subscription], logger: false } as const

/** What the objects of a framework are to a middleware of `node:http`. */
type Foreign = (first: object, second: unknown, next: () => void) => void

describe.each([
  ['receiver.middleware', () => createReceiver(options).middleware()],
  ['receiver.requestListener', () => createReceiver(options).requestListener()],
  ['verifySignature', () => verifySignature(options)],
  ['captureRawBody', () => captureRawBody({ logger: false })],
])('%s() in a framework with objects of its own', (owner, create) => {
  it.each([
    ['a context and a function, as in Koa', (raw: object) => [{ ...raw }, () => {}]],
    ['a Response of Fetch, as in Hono', (raw: object) => [{ ...raw }, new Response()]],
    ['a reply around the response, as in Fastify', (raw: object) => [{ raw }, { raw }]],
    ['no response', (raw: object) => [raw, undefined]],
  ])('throws at the call that passes %s', async (_which, objects) => {
    const errors: unknown[] = []
    const port = await serve((request, response) => {
      const [first, second] = objects(request) as [object, unknown]
      try {
        ;(create() as unknown as Foreign)(first, second, () => {})
      } catch (error) {
        errors.push(error)
      }
      response.writeHead(500).end()
    })
    expect(await sendRawRequest(genuine().toHttp(), { port })).toMatchObject({ status: 500 })
    expect(errors).toMatchObject([
      {
        code: 'ERR_OPTION_INVALID',
        owner,
        option: 'response',
        message: expect.stringContaining('pass the request and the response of node:http'),
      },
    ])
  })

  it('has three parameters, by which h3 (Nitro, Nuxt) knows that it answers later', () => {
    expect(create()).toHaveLength(3)
  })
})

describe('code that answers before the receiver, as Koa does without `ctx.respond = false`,', () => {
  const WARNING = 'WARN_ALREADY_ANSWERED'
  const run = async (bodies: readonly Buffer[]) => {
    const log = collectedLog()
    const answers: (() => void)[] = []
    const receiver = createReceiver({
      subscriptions() {
        answers.shift()!()
        return [subscription]
      },
      // It would call the function again.
      diagnosis: false,
      logger: log,
    }).onAny(() => {})
    const outcomes: Outcome[] = []
    receiver.onOutcome((outcome) => outcomes.push(outcome))
    const middleware = receiver.middleware()
    const port = await serve((request, response) => {
      answers.push(() => response.writeHead(404).end())
      middleware(request, response, () => {})
    })
    for (const bytes of bodies) expect(await sendRawRequest(bytes, { port })).toMatchObject({ status: 404 })
    await until(() => outcomes.length === bodies.length)
    return log.withCode(WARNING)
  }
  const forged = () => genuine({ headers: { Authorization: FORGED } }).toHttp()

  it('is named in the log for each verified callback, with the status that the sender got', async () => {
    const callbacks = [genuine(), genuine()]
    expect(await run(callbacks.map((callback) => callback.toHttp()))).toEqual(
      callbacks.map(({ headers }) => ({
        level: 'warn',
        fields: {
          code: WARNING,
          outcome: 'handled',
          statusCode: 404,
          idempotencyKey: headers['X-Idempotency-Key'],
        },
        message: expect.stringContaining('the sender got 404 from other code before the receiver answered'),
      })),
    )
  })

  it('is named once for callbacks that anyone could have sent', async () => {
    expect(await run([forged(), forged(), forged()])).toMatchObject([{ fields: { outcome: 'refused' } }])
    expect(await run([genuine().toHttp(), forged()])).toMatchObject([{ fields: { outcome: 'handled' } }])
  })
})
