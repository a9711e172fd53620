import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { getTestServer } from '@google-cloud/functions-framework/testing'
import { signedCallback } from 'countersign/testing'
import { isBooked } from './bookings.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let server
let origin

before(async () => {
  process.env.CALLBACK_URL = subscription.callbackUrl
  process.env.CALLBACK_SECRET = subscription.secret
  await import('./index.js')
  server = getTestServer('callbacks').listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${server.address().port}`
})

after(() => server.close())

test('books the transfer of a genuine callback, although the runtime has parsed the body', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })
  assert.equal((await fetch(origin + callback.path, callback)).status, 200)
  assert.equal(isBooked(Id), true)
})

test('refuses a forged callback', async () => {
  const Id = randomUUID()
  const forger = { ...subscription, secret: 'a guess' }
  const callback = signedCallback({ subscription: forger, payload: { Id } })
  assert.equal((await fetch(origin + callback.path, callback)).status, 401)
  assert.equal(isBooked(Id), false)
})
