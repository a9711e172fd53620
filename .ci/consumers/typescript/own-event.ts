import { createReceiver } from 'countersign'
import express from 'express'

// The application has a property of the name that verifySignature() uses, and does not use verifySignature().
declare global {
  namespace Express {
    interface Request {
      event?: { readonly name: string }
      rawBody?: string
    }
  }
}

const receiver = createReceiver({ subscriptions: [] })

export const app = express()
app.post('/hooks/transfers', receiver.middleware())
app.get('/', (request, response) => {
  const name: string | undefined = request.event?.name
  response.json({ name, length: request.rawBody?.length })
})
