import { createReceiver } from 'countersign'
import { bookTransfer } from './bookings.js'

let receiver

/** Made when it is first needed: `next build` loads the routes, too, and has no secrets. */
export function getReceiver() {
  receiver ??= createReceiver({
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
  return receiver
}
