import { createReceiver, MemoryInbox, type PublicSubscription } from '../../src/index.js'
import { startServiceSimulator } from '../../src/simulator.js'
import { signedCallback } from '../../src/testing.js'
import { equal } from './equal.js'

const subscription = { eventTypeName: 'a.b', callbackUrl: 'https://a.example/', secret: 's' }

// With the types of Node alone; with those of the DOM in .ci/consumers/typescript.
const callback = signedCallback({ subscription })
await fetch(callback.url, callback)
await fetch(callback.url, { ...callback, headers: { ...callback.headers, Host: 'a.example' } })
equal<string>()(callback.idempotencyKey)
signedCallback({ subscription, idempotencyKey: callback.idempotencyKey })
const bytes: Buffer = callback.body
void bytes

const simulator = await startServiceSimulator()
const subscribed = simulator.subscribe({ ...subscription, id: 'tenant-1', secret: process.env.SECRET })
createReceiver({ subscriptions: [subscribed] })
signedCallback({ subscription: subscribed })
signedCallback({ subscription: { ...subscription, id: 'tenant-1' } })

createReceiver({ subscriptions: [{ ...subscription, id: undefined }], inbox: new MemoryInbox() }).onAny(
  (event) => {
    equal<PublicSubscription>()(event.subscription)
    equal<string>()(event.subscription.id)
  },
)
// @ts-expect-error an id is a text
createReceiver({ subscriptions: [{ ...subscription, id: 1 }] })
