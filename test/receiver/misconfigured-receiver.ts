import { createReceiver, type ReceiverOptions, type Subscription } from '../../src/index.js'
import { explainCallback } from '../../src/diagnosis/index.js'
import { collectedLog } from '../support/collected-log.js'
import { genuine, SECRET, subscription } from '../support/running-receiver.js'

export const MISMATCH = 'ERR_SIGNATURE_MISMATCH'

export const BASE64 = Buffer.from(SECRET).toString('base64')

/** The secretText is configured, and the service signs with the text. */
export const misconfigured = [{ ...subscription, secret: BASE64 }]

// The first search takes longer than later ones, as its code is not compiled yet.
beforeAll(() => {
  const { headers, body } = genuine()
  for (let run = 0; run < 5; run++)
    explainCallback({ path: '/', headers, body }, { subscriptions: misconfigured, maxMs: 10_000 })
})

/** A receiver whose `subscriptions` function is called once for each callback, and once more for each explanation. */
export function countingReceiver(options: Partial<ReceiverOptions> = {}) {
  const log = collectedLog()
  let calls = 0
  const receiver = createReceiver({
    subscriptions: (): Subscription[] => {
      calls++
      return misconfigured
    },
    logger: log,
    logRefusalsPerSecond: 1_000_000,
    ...options,
  })
  return { receiver, log, calls: () => calls }
}

export function plain(callback = genuine()) {
  return { method: 'POST', path: '/hooks/transfers', headers: callback.headers, body: callback.body }
}
