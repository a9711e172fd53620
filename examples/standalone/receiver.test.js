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
import config from './countersign.config.mjs'

const secret = 'only-for~this.test'
const subscription = { ...config.subscriptions[0], secret }
let folder
let receiver

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'standalone-'))
})
beforeEach(async () => {
  receiver = await start()
})
afterEach(() => receiver.stop())
after(() => rm(folder, { recursive: true }))

test('books a transfer once, however often its callback comes', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })

  assert.equal(await send(callback), 200)
  await receiver.logged('transfer booked', Id)
  assert.equal(await send(callback), 200)
  await receiver.stop()
  assert.equal(receiver.bookings(Id), 1)

  receiver = await start()
  assert.equal(await send(callback), 200)
  await receiver.stop()
  assert.equal(receiver.bookings(Id), 0)
})

test('refuses a forged callback', async () => {
  const Id = randomUUID()
  const forger = { ...subscription, secret: 'a guess' }
  assert.equal(await send(signedCallback({ subscription: forger, payload: { Id } })), 401)
  await receiver.stop()
  assert.equal(receiver.bookings(Id), 0)
})

test('is ready once it listens, and ends with 0 on SIGTERM', async () => {
  assert.equal((await fetch(`${receiver.origin}/readyz`)).status, 200)
  assert.equal(await receiver.stop(), 0)
})

async function send(callback) {
  const { status } = await fetch(receiver.origin + callback.path, callback)
  return status
}

/** `countersign serve` as a process of its own, and what it logs. */
async function start() {
  const env = {
    ...process.env,
    CALLBACK_SECRET: secret,
    COUNTERSIGN_INBOX: join(folder, 'callbacks.db'),
    COUNTERSIGN_HOST: '127.0.0.1',
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_LOG_FORMAT: 'json',
  }
  const stdio = ['ignore', 'pipe', 'inherit']
  // However a test ends, no process is left behind.
  const child = spawn('node_modules/.bin/countersign', ['serve'], { env, stdio, timeout: 60_000 })
  const ended = once(child, 'close')
  const records = []
  const lines = createInterface(child.stdout).on('line', (line) => records.push(JSON.parse(line)))

  async function logged(message, transfer) {
    const signal = AbortSignal.timeout(10_000)
    const isMeant = ({ msg, ...fields }) => msg.startsWith(message) && fields.transfer === transfer
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
