export { fastifyReceiver, type FastifyReceiverOptions } from './receiver/fastify-receiver.js'
