import { once } from 'node:events'
import { Queue } from 'bullmq'
import { createReceiver } from 'countersign'
import { forwardTo } from 'countersign/bullmq'
import { RedisIdempotencyStore } from 'countersign/redis'
import express from 'express'
import { connect } from './redis.js'

const connection = await connect()
const queue = new Queue('callbacks', { connection })
queue.on('error', (error) => console.error(error.message))

const receiver = createReceiver({
  subscriptions: [
    {
      eventTypeName: 'transfers.book-completed',
      callbackUrl: process.env.CALLBACK_URL,
      secret: process.env.CALLBACK_SECRET,
    },
  ],
  // Both receivers refuse a captured callback under a new key, also after a restart.
  store: new RedisIdempotencyStore({ client: connection }),
})
receiver.onAny(
  forwardTo(queue, {
    jobOptions: {
      attempts: 25,
      backoff: { type: 'exponential', delay: 1_000 },
      removeOnComplete: { age: 86_400 },
    },
  }),
)

const app = express()
app.post('/hooks/transfers', receiver.middleware())
await receiver.start()
const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1')
await once(server, 'listening')
console.log(JSON.stringify({ msg: 'listening', port: server.address().port }))

process.once('SIGTERM', () => void stop())

async function stop() {
  await receiver.stop({ server })
  await queue.close()
  connection.destroy()
}
