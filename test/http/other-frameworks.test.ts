import { captureRawBody, createReceiver, verifySignature } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { serve } from '../support/hosts.js'
import { genuine, subscription } from '../support/running-receiver.js'

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
