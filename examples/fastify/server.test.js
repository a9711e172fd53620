import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, beforeEach, test } from 'node:test'
import { signedCallback } from 'countersign/testing'
import { createApp } from './app.js'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let booked
let app
let origin

beforeEach(async () => {
  booked = []
  app = await createApp({
    subscriptions: [subscription],
    bookTransfer: async (id) => void booked.push(id),
    maxBodyBytes: 10_000,
    bodyTimeoutMs: 200,
    logger: false,
  })
  origin = await app.listen({ host: '127.0.0.1', port: 0 })
})

afterEach(() => app.close())

test('books a transfer once, however often its callback comes', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })
  for (let time = 0; time < 2; time++) {
    assert.equal((await fetch(origin + callback.path, callback)).status, 200)
  }
  assert.deepEqual(booked, [Id])
})

test('refuses a forged callback', async () => {
  const forger = { ...subscription, secret: 'a guess' }
  const callback = signedCallback({ subscription: forger, payload: { Id: randomUUID() } })
  assert.equal((await fetch(origin + callback.path, callback)).status, 401)
  assert.deepEqual(booked, [])
})

test('answers a body that is too large or too slow, and goes on', async () => {
  assert.equal(await sendUnfinished(Buffer.alloc(20_000)), 413)
  assert.equal(await sendUnfinished(Buffer.alloc(10)), 408)
  const callback = signedCallback({ subscription, payload: { Id: randomUUID() } })
  assert.equal((await fetch(origin + callback.path, callback)).status, 200)
})

test('takes a callback from app.inject(), which needs no socket', async () => {
  const { method, path, headers, body } = signedCallback({ subscription, payload: { Id: randomUUID() } })
  assert.equal((await app.inject({ method, url: path, headers, payload: body })).statusCode, 200)
  assert.equal((await app.inject({ method, url: path, headers, payload: 'forged' })).statusCode, 401)
})

test('leaves the other routes their parsed JSON', async () => {
  const headers = { 'Content-Type': 'application/json' }
  const created = await fetch(`${origin}/customers`, { method: 'POST', headers, body: '{"name":"Ada"}' })
  assert.equal(created.status, 201)
  assert.deepEqual(await created.json(), { name: 'Ada' })
})

/** A request in chunks that does not end; resolves with the status of its answer. */
async function sendUnfinished(bytes) {
  const { path, method, headers } = signedCallback({ subscription, headers: { 'Content-Length': null } })
  const sending = request(origin + path, { method, headers })
  sending.on('error', () => {})
  sending.write(bytes)
  const [{ statusCode }] = await once(sending, 'response')
  sending.destroy()
  return statusCode
}
