import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { INestApplication } from '@nestjs/common'
import { signedCallback } from 'countersign/testing'
import { createApp } from './app.js'
import { Bookings } from './bookings.js'
import { Callbacks } from './callbacks.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let app: INestApplication
let origin: string

before(async () => {
  process.env['CALLBACK_URL'] = subscription.callbackUrl
  process.env['CALLBACK_SECRET'] = subscription.secret
  app = await createApp()
  await app.listen(0, '127.0.0.1')
  origin = await app.getUrl()
})

after(async () => {
  await app.close()
  assert.equal(app.get(Callbacks).receiver.ready, false)
})

test('books the transfer of a genuine callback', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })
  assert.equal((await fetch(origin + callback.path, callback)).status, 200)
  assert.equal(app.get(Bookings).isBooked(Id), true)
})

test('refuses a forged callback', async () => {
  const Id = randomUUID()
  const forger = { ...subscription, secret: 'a guess' }
  const callback = signedCallback({ subscription: forger, payload: { Id } })
  assert.equal((await fetch(origin + callback.path, callback)).status, 401)
  assert.equal(app.get(Bookings).isBooked(Id), false)
})

test('leaves the other routes their parsed JSON', async () => {
  const headers = { 'Content-Type': 'application/json' }
  const created = await fetch(`${origin}/customers`, { method: 'POST', headers, body: '{"name":"Ada"}' })
  assert.deepEqual(await created.json(), { name: 'Ada' })
})
