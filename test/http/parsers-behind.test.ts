import express5 from 'express'
import express4 from 'express4'
import { captureRawBody, verifySignature } from '../../src/index.js'
import { sendRawRequest } from '../../src/testing/raw-request.js'
import { serve } from '../support/hosts.js'
import { genuine, subscription } from '../support/running-receiver.js'

const subscriptions = [subscription]

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('in %s a callback passes a parser that is mounted for every path', (_name, express) => {
  describe.each([
    ['express.json()', express.json({ type: () => true })],
    ['express.urlencoded()', express.urlencoded({ extended: false, type: () => true })],
    ['express.text()', express.text({ type: () => true })],
    ['express.raw()', express.raw({ type: () => true })],
  ])('%s', (_parser, parser) => {
    const verify = verifySignature({ subscriptions, logger: false })

    it.each<[string, express5.RequestHandler[]]>([
      ['captureRawBody()', [captureRawBody({ logger: false }), parser, verify]],
      ['verifySignature()', [verify, parser]],
    ])('behind %s', async (_which, middleware) => {
      const callback = genuine()
      const app = express().use(...middleware)
      app.post('/hooks/transfers', (request, response) => {
        response.json({ key: request.event?.idempotencyKey })
      })
      const { status, body } = await sendRawRequest(callback.toHttp(), { port: await serve(app) })
      expect([status, body.toString()]).toEqual([
        200,
        JSON.stringify({ key: callback.headers['X-Idempotency-Key'] }),
      ])
    })
  })
})
