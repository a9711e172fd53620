import { Worker } from 'bullmq'
import { handleForwarded } from 'countersign/bullmq'
import { connect } from './redis.js'

const processor = handleForwarded({
  'transfers.book-completed': async (event) => {
    console.log(JSON.stringify({ msg: 'transfer booked', transfer: event.payload.Id }))
  },
})

const connection = await connect()
const worker = new Worker('callbacks', processor, { connection })
worker.on('error', (error) => console.error(error.message))

process.once('SIGTERM', () => void stop())

async function stop() {
  await worker.close()
  connection.destroy()
}
