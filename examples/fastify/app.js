import { createReceiver } from 'countersign'
import { fastifyReceiver } from 'countersign/fastify'
import Fastify from 'fastify'

/** The application without what differs between production and a test: what it subscribed, what it does, its log. */
export async function createApp({ bookTransfer, logger, ...options }) {
  const app = Fastify({ logger })
  const receiver = createReceiver({ logger: app.log, ...options })
  receiver.on('transfers.book-completed', async ({ payload }) => {
    await bookTransfer(payload.Id)
  })

  // Before plugins that add a hook to each later route, such as a rate limiter: it would refuse genuine callbacks.
  await app.register(fastifyReceiver, { receiver, path: '/hooks/transfers' })
  app.post('/customers', async (request, reply) => reply.code(201).send({ name: request.body?.name }))
  return app
}
