import { createApp } from './app.js'

const app = await createApp({
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: process.env.CALLBACK_URL,
      secret: process.env.CALLBACK_SECRET,
    },
  ],
  bookTransfer: async (id) => console.log(`transfer ${id} booked`),
  logger: true,
})

await app.listen({
  host: process.env.HOST ?? '127.0.0.1',
  port: Number(process.env.PORT ?? 3000),
})

// Once: the same signal again ends the process immediately.
process.once('SIGTERM', () => void app.close())
process.once('SIGINT', () => void app.close())
