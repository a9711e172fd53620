import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterEach, beforeEach, test } from 'node:test'
import { signedCallback } from 'countersign/testing'
import { createApp } from './app.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let booked
let receiver
let server
let origin

beforeEach(async () => {
  booked = []
  const created = createApp({
    subscriptions: [subscription],
    bookTransfer: async (id) => void booked.push(id),
    maxBodyBytes: 10_000,
    logger: false,
  })
  receiver = created.receiver
  await receiver.start()
  server = created.app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${server.address().port}`
})

afterEach(() => receiver.stop({ server }))

test('books a transfer once, however often its callback comes', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })
  for (let time = 0; time < 2; time++) {
    assert.equal((await fetch(origin + callback.path, callback)).status, 200)
  }
  assert.deepEqual(booked, [Id])
})

test('refuses a forged callback, and a body that is too large', async () => {
  const forger = { ...subscription, secret: 'a guess' }
  const forged = signedCallback({ subscription: forger, payload: { Id: randomUUID() } })
  const large = signedCallback({ subscription, payload: { Id: 'x'.repeat(20_000) } })
  assert.equal((await fetch(origin + forged.path, forged)).status, 401)
  assert.equal((await fetch(origin + large.path, large)).status, 413)
  assert.deepEqual(booked, [])
})

test('leaves other paths to the application', async () => {
  assert.equal(await (await fetch(`${origin}/others`)).text(), 'another page')
})
