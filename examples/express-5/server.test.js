import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { signedCallback } from 'countersign/testing'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let folder
let server

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'express-5-'))
})
beforeEach(async () => {
  server = await start()
})
afterEach(() => server.stop())
after(() => rm(folder, { recursive: true }))

test('books a transfer once, however often its callback comes', async () => {
  const callback = signedCallback({ subscription, payload: { Id: randomUUID() } })
  const { Id } = JSON.parse(callback.body)

  assert.equal(await send(callback), 200)
  await server.logged('transfer booked', Id)
  assert.deepEqual(await get(`/transfers/${Id}`), { id: Id, booked: true })

  assert.equal(await send(callback), 200)
  await server.stop()
  assert.equal(server.bookings(Id), 1)

  server = await start()
  assert.equal(await send(callback), 200)
  await server.stop()
  assert.equal(server.bookings(Id), 0)
})

test('refuses a forged callback', async () => {
  const Id = randomUUID()
  const forger = { ...subscription, secret: 'a guess' }
  assert.equal(await send(signedCallback({ subscription: forger, payload: { Id } })), 401)
  await server.stop()
  assert.equal(server.bookings(Id), 0)
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

test('is ready once it listens, and ends with 0 on SIGTERM', async () => {
  assert.equal((await fetch(`${server.origin}/readyz`)).status, 200)
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

/** The program as a process of its own, and what it logs. */
async function start() {
  const env = {
    ...process.env,
    CALLBACK_URL: subscription.callbackUrl,
    CALLBACK_SECRET: subscription.secret,
    CALLBACK_INBOX: join(folder, 'callbacks.db'),
    HOST: '127.0.0.1',
    PORT: '0',
  }
  const stdio = ['ignore', 'pipe', 'inherit']
  // However a test ends, no process is left behind.
  const child = spawn(process.execPath, ['server.js'], { env, stdio, timeout: 60_000 })
  const ended = once(child, 'close')
  const records = []
  const lines = createInterface(child.stdout).on('line', (line) => records.push(JSON.parse(line)))

  async function logged(msg, transfer) {
    const signal = AbortSignal.timeout(10_000)
    const isMeant = (record) => record.msg === msg && record.transfer === transfer
    while (!records.some(isMeant)) await once(lines, 'line', { signal })
    return records.find(isMeant)
  }
  async function stop() {
    child.kill('SIGTERM')
    const [code] = await ended
    return code
  }
  const { port } = await logged('listening')
  return {
    origin: `http://127.0.0.1:${port}`,
    logged,
    bookings: (id) =>
      records.filter(({ msg, transfer }) => msg === 'transfer booked' && transfer === id).length,
    stop,
  }
}
