import { createReceiver } from 'countersign'
import { SqliteInbox } from 'countersign/sqlite'
import { bookTransfer } from './bookings.js'
import { log } from './log.js'

export const receiver = createReceiver({
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: process.env.CALLBACK_URL,
      secret: process.env.CALLBACK_SECRET,
    },
  ],
  inbox: new SqliteInbox({ file: process.env.CALLBACK_INBOX ?? 'callbacks.db', logger: log }),
  logger: log,
})

receiver.on('transfers.book-completed', async (event, { logger }) => {
  await bookTransfer(event.payload.Id)
  logger.info({ transfer: event.payload.Id }, 'transfer booked')
})
