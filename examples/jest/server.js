'use strict'
const { createApp } = require('./app.js')
const { createBookings } = require('./bookings.js')

async function main() {
  const { app, receiver } = createApp({
    subscriptions: [
      {
        eventTypeName: 'transfers.book-completed',
        callbackUrl: process.env.CALLBACK_URL,
        secret: process.env.CALLBACK_SECRET,
      },
    ],
    bookings: createBookings(),
    logger: console,
  })
  await receiver.start()
  const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1', (error) => {
    if (error) throw error
    console.log(`listening on port ${server.address().port}`)
  })

  // Once: the same signal again ends the process immediately.
  process.once('SIGTERM', () => void receiver.stop({ server }))
  process.once('SIGINT', () => void receiver.stop({ server }))
}

void main()
