import { once } from 'node:events'
import { app } from './app.js'
import { receiver } from './callbacks.js'
import { log } from './log.js'

// First, so that the inbox is open when the first callback arrives.
await receiver.start()
const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1')
await once(server, 'listening')
log.info({ port: server.address().port }, 'listening')

// Once: the same signal again ends the process immediately. The inbox outlives that, too.
process.once('SIGTERM', () => void stop())
process.once('SIGINT', () => void stop())

async function stop() {
  await receiver.stop({ server })
  log.info('stopped')
}
