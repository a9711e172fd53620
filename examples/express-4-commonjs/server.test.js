'use strict'
const assert = require('node:assert/strict')
const { spawn } = require('node:child_process')
const { randomUUID } = require('node:crypto')
const { once } = require('node:events')
const { createInterface } = require('node:readline')
const { afterEach, beforeEach, test } = require('node:test')
const { signedCallback } = require('countersign/testing')

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let server

beforeEach(async () => {
  server = await start()
})
afterEach(() => server.stop())

test('has booked a transfer when it answers 200, and books it once', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })

  assert.equal(await send(callback), 200)
  assert.deepEqual(await get(`/transfers/${Id}`), { id: Id, booked: true })

  assert.equal(await send(callback), 200)
  await server.stop()
  assert.equal(server.printed.filter((line) => line === `transfer ${Id} booked`).length, 1)
})

test('answers 500 when the handler fails, so that the callback may come again', async () => {
  const callback = signedCallback({ subscription, payload: {} })
  assert.equal(await send(callback), 500)
  assert.equal(await send(callback), 500)
})

test('refuses a forged callback', async () => {
  const Id = randomUUID()
  const forger = { ...subscription, secret: 'a guess' }
  assert.equal(await send(signedCallback({ subscription: forger, payload: { Id } })), 401)
  assert.deepEqual(await get(`/transfers/${Id}`), { id: Id, booked: false })
})

test('leaves the other routes their parsed JSON, and their errors', async () => {
  const post = (body) => {
    const headers = { 'Content-Type': 'application/json' }
    return fetch(`${server.origin}/customers`, { method: 'POST', headers, body })
  }
  const created = await post('{"name":"Ada"}')
  assert.equal(created.status, 201)
  assert.deepEqual(await created.json(), { name: 'Ada' })
  assert.equal((await post('{"name":')).status, 400)
})

test('ends with 0 on SIGTERM', async () => {
  assert.equal(await server.stop(), 0)
})

async function send(callback) {
  const { status } = await fetch(server.origin + callback.path, callback)
  return status
}

async function get(path) {
  const response = await fetch(server.origin + path)
  return response.json()
}

/** The program as a process of its own, and what it prints. */
async function start() {
  const env = {
    ...process.env,
    CALLBACK_URL: subscription.callbackUrl,
    CALLBACK_SECRET: subscription.secret,
    HOST: '127.0.0.1',
    PORT: '0',
  }
  const stdio = ['ignore', 'pipe', 'ignore']
  // However a test ends, no process is left behind.
  const child = spawn(process.execPath, ['server.js'], { env, stdio, timeout: 60_000 })
  const ended = once(child, 'close')
  const printed = []
  const lines = createInterface(child.stdout).on('line', (line) => printed.push(line))

  async function port() {
    const signal = AbortSignal.timeout(10_000)
    for (;;) {
      const [, number] = /^listening on port (\d+)$/m.exec(printed.join('\n')) ?? []
      if (number) return number
      await once(lines, 'line', { signal })
    }
  }
  async function stop() {
    child.kill('SIGTERM')
    const [code] = await ended
    return code
  }
  return { origin: `http://127.0.0.1:${await port()}`, printed, stop }
}
