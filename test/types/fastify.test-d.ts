import fastify5 from 'fastify'
import fastify4 from 'fastify4'
import { fastifyReceiver } from '../../src/fastify.js'
import { createReceiver } from '../../src/index.js'

interface Transfers {
  'transfers.book-completed': { Id: string; amount: number }
}

const receiver = createReceiver<Transfers>({ subscriptions: [] })
fastify5().register(fastifyReceiver, { receiver, path: '/hooks/transfers' })
fastify5({ http2: true }).register(fastifyReceiver, { receiver, path: '/transfers', prefix: '/hooks' })
fastify4().register(fastifyReceiver, { receiver, path: '/hooks/transfers', logLevel: 'warn' })
// @ts-expect-error the receiver is missing
fastify5().register(fastifyReceiver, { path: '/hooks/transfers' })
// @ts-expect-error the options of the receiver are no receiver
fastify5().register(fastifyReceiver, { receiver: { subscriptions: [] }, path: '/hooks/transfers' })
