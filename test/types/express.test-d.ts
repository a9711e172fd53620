import express from 'express'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createReceiver, captureRawBody, verifySignature, type CallbackEvent } from '../../src/index.js'
import { equal } from './equal.js'

// As docs/middleware.md says.
declare global {
  namespace Express {
    interface Request {
      event?: CallbackEvent
      rawBody?: Buffer
    }
  }
}

const app = express()
const receiver = createReceiver({ subscriptions: [] })
app.post('/hooks/transfers', receiver.middleware())
app.use(captureRawBody({ maxBodyBytes: 1 }))
app.post('/verified', verifySignature({ subscriptions: [] }), (request, response) => {
  equal<CallbackEvent | undefined>()(request.event)
  // @ts-expect-error without verifySignature() ahead there is none
  response.send(request.event.payload.Id)
})
app.post('/captured', captureRawBody(), (request, response) => {
  equal<Buffer | undefined>()(request.rawBody)
  response.send(request.rawBody)
})
// @ts-expect-error the receiver itself is no middleware
app.post('/hooks/transfers', receiver)
// @ts-expect-error verification needs something to verify against
verifySignature()
// @ts-expect-error reading a body has nothing to do with subscriptions
captureRawBody({ subscriptions: [] })

const listener = receiver.requestListener(app, { path: '/hooks/transfers' })
createServer(listener).on('checkContinue', (request, response) => {
  listener(request, response, () => response.writeContinue())
})
createHttp2Server(receiver.requestListener())
// @ts-expect-error the receiver itself is not a listener
createHttp2Server(receiver)
