import functions from '@google-cloud/functions-framework'
import { createReceiver } from 'countersign'
import { bookTransfer } from './bookings.js'

const receiver = createReceiver({
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: process.env.CALLBACK_URL,
      secret: process.env.CALLBACK_SECRET,
    },
  ],
})
receiver.on('transfers.book-completed', async ({ payload }) => {
  await bookTransfer(payload.Id)
})
await receiver.start()

// The runtime parses the body, and keeps its bytes in req.rawBody, which the receiver uses.
functions.http('callbacks', receiver.requestListener())
