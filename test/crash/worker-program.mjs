// A process that only handles, and that may be killed.
import { once } from 'node:events'
import { createWorker } from 'countersign'
import { EMPTYING, handler, isTransactional, openInbox, subscription } from './striking.mjs'

const worker = createWorker({ inbox: await openInbox(), ...EMPTYING, logger: false })
worker.on(subscription.eventTypeName, handler, { transactional: isTransactional })
await worker.start()
console.log(JSON.stringify({ started: true }))
// A listener of a signal does not keep a process alive.
const running = setInterval(() => {}, 60_000)
await once(process, 'SIGTERM')
clearInterval(running)
await worker.stop()
