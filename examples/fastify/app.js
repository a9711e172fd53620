import Fastify from 'fastify'
import { callbacks } from './callbacks.js'

/** The application without what differs between production and a test. */
export function createApp(options) {
  const app = Fastify()
  app.register(callbacks, { path: '/hooks/transfers', ...options })
  app.post('/customers', async (request, reply) => reply.code(201).send({ name: request.body?.name }))
  return app
}
