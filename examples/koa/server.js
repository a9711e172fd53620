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
const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1', () => {
  console.log(`listening on port ${server.address().port}`)
})

// Once: the same signal again ends the process immediately.
process.once('SIGTERM', () => void receiver.stop({ server }))
process.once('SIGINT', () => void receiver.stop({ server }))
