import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { signedCallback } from 'countersign/testing'
import { POST } from './app/hooks/transfers/route.js'
import { isBooked } from './bookings.js'
import { register } from './instrumentation.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}

before(async () => {
  process.env.CALLBACK_URL = subscription.callbackUrl
  process.env.CALLBACK_SECRET = subscription.secret
  await register()
})

test('has booked a transfer when it answers 200', async () => {
  const Id = randomUUID()
  const response = await POST(requestOf(signedCallback({ subscription, payload: { Id } })))
  assert.equal(response.status, 200)
  assert.equal(isBooked(Id), true)
})

test('refuses a forged callback', async () => {
  const Id = randomUUID()
  const forger = { ...subscription, secret: 'a guess' }
  const response = await POST(requestOf(signedCallback({ subscription: forger, payload: { Id } })))
  assert.equal(response.status, 401)
  assert.equal(isBooked(Id), false)
})

test('says so when the body was read before', async () => {
  const request = requestOf(signedCallback({ subscription, payload: { Id: randomUUID() } }))
  await request.json()
  assert.equal((await POST(request)).status, 503)
})

test('has one receiver, although Next.js loads the file for each of its entry points', async () => {
  const [started, another] = await Promise.all([import('./receiver.js'), import('./receiver.js?another')])
  assert.notEqual(another.getReceiver, started.getReceiver)
  assert.equal(another.getReceiver(), started.getReceiver())
  assert.equal(started.getReceiver().ready, true)
})

/** What Next.js gives a route handler, less its own additions. */
function requestOf(callback) {
  return new Request(subscription.callbackUrl, callback)
}
