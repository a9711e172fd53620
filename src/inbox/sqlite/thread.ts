// The thread that has the file of an inbox: see store-thread.ts.
import { parentPort, workerData } from 'node:worker_threads'
import { SYSTEM } from '../../base/environment.js'
import type { Logger } from '../../logging/logger.js'
import { Store, type StoreSettings } from './store.js'
import type { Asked, Line, ReadCall, Told } from './store-thread.js'
import { failureOf, packAdded, unpackArrivals } from './thread-messages.js'

const port = parentPort!

const logger: Logger = {
  debug: (fields, message) => log('debug', fields, message),
  info: (fields, message) => log('info', fields, message),
  warn: (fields, message) => log('warn', fields, message),
  error: (fields, message) => log('error', fields, message),
}

function log(level: Line['level'], { err, ...fields }: object & { err?: unknown }, message: string): void {
  const failure = err === undefined ? undefined : failureOf(err)
  port.postMessage({ line: { level, fields, failure, message } } satisfies Told)
}

const store = new Store(workerData as StoreSettings, logger, SYSTEM)

port.on('message', (asked: Asked) => {
  answer(asked).then(
    (result) => port.postMessage({ number: asked.number, result } satisfies Told),
    (error: unknown) => port.postMessage({ number: asked.number, failure: failureOf(error) } satisfies Told),
  )
})

async function answer(asked: Asked): Promise<unknown> {
  switch (asked.what) {
    case 'write': {
      const { now, arrivals, writes } = asked
      const { added, written } = await store.write({ now, arrivals: unpackArrivals(arrivals), writes })
      return {
        added: packAdded(added),
        written: written.map((each) => ('error' in each ? { failure: failureOf(each.error) } : each)),
      }
    }
    case 'read':
      return (store.read as (...call: ReadCall) => Promise<unknown>).call(store, ...asked.read)
    case 'open':
      return store.open()
    case 'close':
      return store.close()
  }
}
