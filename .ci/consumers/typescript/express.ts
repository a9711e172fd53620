import { captureRawBody, createReceiver, verifySignature, type CallbackEvent } from 'countersign'
import express from 'express'

declare global {
  namespace Express {
    interface Request {
      event?: CallbackEvent
      rawBody?: Buffer
    }
  }
}

const subscriptions = [
  {
    eventTypeName: 'transfers.book-completed',
    callbackUrl: 'https://partner.example.com/hooks/transfers',
    secret: 'the secret text of a consumer',
  },
]
const receiver = createReceiver({ subscriptions })
receiver.on('transfers.book-completed', (event) => console.log(event.payload.Id))

export const app = express()
app.post('/hooks/transfers', receiver.middleware())
app.post('/one-by-one', captureRawBody(), verifySignature({ subscriptions }), (request, response) => {
  const key: string | undefined = request.event?.idempotencyKey
  response.json({ key, length: request.rawBody?.length })
})
