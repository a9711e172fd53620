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

/** An event of API Gateway, of payload format 1.0 and 2.0, or of a function URL. */
export async function handler(event) {
  const { status, headers, body } = await receiver.receive({
    method: event.httpMethod ?? event.requestContext.http.method,
    path: event.path ?? event.rawPath,
    // Format 1.0 has repeated headers in multiValueHeaders only. Format 2.0 joins them with commas.
    headers: event.multiValueHeaders ?? event.headers,
    body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
  })
  return { statusCode: status, headers, body }
}
