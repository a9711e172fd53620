import { createReceiver } from 'countersign'
import { bookTransfer } from './bookings.js'

const RECEIVER = Symbol.for('next-route.receiver')

/**
 * Made when it is first needed: `next build` loads the routes, too, and has no secrets. It is global, because Next.js loads
 * this file once for instrumentation.js and again for the route, and the route needs the receiver that was started.
 */
export function getReceiver() {
  return (globalThis[RECEIVER] ??= newReceiver())
}

function newReceiver() {
  return createReceiver({
    subscriptions: [
      {
        eventTypeName: 'transfers.book-completed',
        callbackUrl: process.env.CALLBACK_URL,
        secret: process.env.CALLBACK_SECRET,
      },
    ],
  }).on('transfers.book-completed', async ({ payload }) => {
    await bookTransfer(payload.Id)
  })
}
