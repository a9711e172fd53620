import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { signedCallback } from 'countersign/testing'
import { createClient } from 'redis'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
let folder
let redisPort
let redis
let receivers
let worker

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bullmq-'))
  redisPort = await freePort()
  redis = await startRedis()
  receivers = await Promise.all([start('receiver.js'), start('receiver.js')])
  worker = await start('worker.js')
})
after(async () => {
  for (const { stop } of [...receivers, worker, redis]) await stop()
  await rm(folder, { recursive: true })
})

test('a transfer is booked once, whichever receiver its callback and its repeats reach', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })
  for (const receiver of [...receivers, ...receivers]) assert.equal(await send(receiver, callback), 200)
  await worker.logged('transfer booked', Id)
  const last = randomUUID()
  assert.equal(await send(receivers[0], signedCallback({ subscription, payload: { Id: last } })), 200)
  await worker.logged('transfer booked', last)
  assert.equal(worker.bookings(Id), 1)
})

test('a known key with another body and a captured callback with a new key are refused, also after a restart', async () => {
  const [payload, idempotencyKey] = [{ Id: randomUUID() }, randomUUID()]
  const callback = signedCallback({ subscription, payload, idempotencyKey })
  assert.equal(await send(receivers[0], callback), 200)
  await worker.logged('transfer booked', payload.Id)
  await receivers[0].stop()
  receivers[0] = await start('receiver.js')
  const other = signedCallback({ subscription, payload: { Id: randomUUID() }, idempotencyKey })
  const headers = { ...callback.headers, 'X-Idempotency-Key': randomUUID() }
  for (const receiver of receivers) {
    assert.equal(await send(receiver, other), 409)
    assert.equal(await send(receiver, { ...callback, headers }), 409)
    assert.equal(await send(receiver, callback), 200)
  }
  assert.equal(worker.bookings(payload.Id), 1)
})

test('a forged callback is refused', async () => {
  const forger = { ...subscription, secret: 'a guess' }
  assert.equal(await send(receivers[0], signedCallback({ subscription: forger })), 401)
})

test('the sender is asked to come back while Redis is away, and loses nothing', async () => {
  const Id = randomUUID()
  const callback = signedCallback({ subscription, payload: { Id } })
  await redis.stop()
  assert.equal(await send(receivers[0], callback), 503)
  redis = await startRedis()
  while ((await send(receivers[0], callback)) !== 200);
  await worker.logged('transfer booked', Id)
  assert.equal(worker.bookings(Id), 1)
})

async function send(receiver, callback) {
  const { port } = await receiver.logged('listening')
  const { status } = await fetch(`http://127.0.0.1:${port}${callback.path}`, callback)
  return status
}

/** A program of this folder, and what it logs. */
async function start(program) {
  const env = {
    ...process.env,
    CALLBACK_URL: subscription.callbackUrl,
    CALLBACK_SECRET: subscription.secret,
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    PORT: '0',
  }
  const stdio = ['ignore', 'pipe', 'ignore']
  // However a test ends, no process is left behind.
  const child = spawn(process.execPath, [program], { env, stdio, timeout: 120_000 })
  const ended = once(child, 'close')
  const records = []
  const lines = createInterface(child.stdout).on('line', (line) => records.push(JSON.parse(line)))

  return {
    async logged(msg, transfer) {
      const signal = AbortSignal.timeout(30_000)
      const isMeant = (record) => record.msg === msg && record.transfer === transfer
      while (!records.some(isMeant)) await once(lines, 'line', { signal })
      return records.find(isMeant)
    },
    bookings: (id) => records.filter(({ transfer }) => transfer === id).length,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function startRedis() {
  const args = ['--port', String(redisPort), '--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const child = spawn('redis-server', args, { cwd: folder, stdio: 'ignore', timeout: 120_000 })
  const ended = once(child, 'close')
  const client = createClient({ url: `redis://127.0.0.1:${redisPort}`, socket: { reconnectStrategy: 20 } })
  client.on('error', () => {})
  await client.connect()
  client.destroy()
  return {
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
