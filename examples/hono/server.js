import { serve } from '@hono/node-server'
import { createApp } from './app.js'

const { app, receiver } = createApp({
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: process.env.CALLBACK_URL,
      secret: process.env.CALLBACK_SECRET,
    },
  ],
  bookTransfer: async (id) => console.log(`transfer ${id} booked`),
})

await receiver.start()
const hostname = process.env.HOST ?? '127.0.0.1'
const server = serve({ fetch: app.fetch, hostname, port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`listening on port ${port}`)
})

// Once: the same signal again ends the process immediately.
process.once('SIGTERM', () => void receiver.stop({ server }))
process.once('SIGINT', () => void receiver.stop({ server }))
