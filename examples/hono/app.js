import { createReceiver } from 'countersign'
import { Hono } from 'hono'

/** The application without what differs between production and a test: what it subscribed, what it does, its log. */
export function createApp({ subscriptions, bookTransfer, ...options }) {
  const receiver = createReceiver({ subscriptions, ...options })
  receiver.on('transfers.book-completed', async ({ payload }) => {
    await bookTransfer(payload.Id)
  })

  const app = new Hono()
  // No middleware may read the body first: the signature is over the bytes as they arrived.
  app.post('/hooks/transfers', (c) => receiver.fetch(c.req.raw))
  app.get('/readyz', (c) => c.body(null, receiver.ready ? 200 : 503))
  return { app, receiver }
}
