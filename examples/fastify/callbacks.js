import { createReceiver } from 'countersign'

/**
 * A Fastify plugin. It is registered without `fastify-plugin`, so that its content type parser holds for this route alone and
 * the other routes of the application keep theirs.
 */
export async function callbacks(app, { path, bookTransfer, ...options }) {
  const receiver = createReceiver(options)
  receiver.on('transfers.book-completed', async ({ payload }) => {
    await bookTransfer(payload.Id)
  })

  // The receiver reads the body: the signature is over the bytes as they arrived.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // The limit on bodies is the receiver's maxBodyBytes.
  app.post(path, { bodyLimit: Number.MAX_SAFE_INTEGER }, async (request, reply) => {
    const { status, headers, body } = await receiver.receive({
      method: request.method,
      path: request.url,
      rawHeaders: request.raw.rawHeaders,
      body: () => request.raw,
    })
    // The rest of a body that was refused does not come, or is not wanted.
    if (!request.raw.complete) reply.header('Connection', 'close')
    return reply.code(status).headers(headers).send(body)
  })

  app.addHook('onReady', () => receiver.start())
  app.addHook('preClose', () => receiver.stop())
}
