// One server in a process of its own, named by the argument. Each does what people do who write that kind of receiver.
import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import express from 'express'
import { createClient } from 'redis'
import { createReceiver } from 'countersign'
import { PostgresInbox } from 'countersign/postgres'
import { RedisIdempotencyStore } from 'countersign/redis'
import { SqliteInbox } from 'countersign/sqlite'
import { parseServerOptions, startReceiverServer } from '../../dist/server/server.js'
import { AppendOnlyInbox, oneTransactionEach } from '../inbox/compared-inboxes.mjs'
import { leastProgram } from '../inbox/least-program.mjs'
import { insertByHand } from '../postgres/insert-by-hand.mjs'
import { path, subscription } from './requests.mjs'

let handled = 0
let explained = 0
/** Resolves when the server does nothing more for the callbacks that it has answered. */
let idle = async () => {}
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
process.on('SIGTERM', () => process.exit())
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
const handle = () => void handled++

/** In place of a log that writes: counts the lines with the cause of a signature that does not match. */
const countExplanations = {
  debug() {},
  info() {},
  warn: ({ cause }) => void (cause && explained++),
  error() {},
}

function countersign(options) {
  return createReceiver({ subscriptions: [subscription], logger: false, ...options }).on(
    subscription.eventTypeName,
    handle,
  )
}

async function mountedOnRedis(url) {
  const client = await createClient({ url }).connect()
  const app = express()
  const store = new RedisIdempotencyStore({ client, logger: false })
  app.post(path, countersign({ store }).middleware())
  return createServer(app)
}

function mounted() {
  const app = express()
  app.post(path, countersign().middleware())
  return createServer(app)
}

/** Counts a callback when the end of its handler, which does nothing, has been recorded. */
async function handling(inbox) {
  const receiver = createReceiver({ subscriptions: [subscription], inbox, concurrency: 64, logger: false })
  receiver.on(subscription.eventTypeName, () => {}).onHandled(handle)
  await receiver.start()
  idle = () => receiver.idle()
  return receiver
}

// Without handlers: what is measured is how fast callbacks are durably accepted, not what is done with them later.
async function accepting(inbox) {
  const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
  receiver.onOutcome(({ status }) => status === 200 && handle())
  await receiver.start()
  return receiver
}

const file = (name) => join(directory, name)

const servers = {
  async 'mounted, inbox'() {
    const app = express()
    app.post(path, (await accepting(new SqliteInbox({ file: file('mounted.db') }))).middleware())
    return createServer(app)
  },

  async 'mounted, inbox and worker'() {
    const app = express()
    const receiver = createReceiver({
      subscriptions: [subscription],
      inbox: new SqliteInbox({ file: file('handled.db') }),
      logger: false,
    })
    receiver.on(subscription.eventTypeName, () => {}).onOutcome(({ status }) => status === 200 && handle())
    await receiver.start()
    idle = () => receiver.idle()
    app.post(path, receiver.middleware())
    return createServer(app)
  },

  async 'mounted, end to end'() {
    const app = express()
    app.post(path, (await handling(new SqliteInbox({ file: file('end-to-end.db') }))).middleware())
    return createServer(app)
  },

  async 'standalone, end to end'() {
    return createServer((await handling(new SqliteInbox({ file: file('end-to-end.db') }))).requestListener())
  },

  'least program'() {
    const least = leastProgram(file('least.db'), { handle: () => {}, onHandled: handle })
    idle = least.idle
    return least.server
  },

  async 'mounted, one transaction each'() {
    const app = express()
    const inbox = oneTransactionEach({ file: file('each.db') })
    app.post(path, (await accepting(inbox)).middleware())
    return createServer(app)
  },

  async 'standalone, inbox'() {
    return createServer((await accepting(new SqliteInbox({ file: file('standalone.db') }))).requestListener())
  },

  async 'standalone, append-only file'() {
    return createServer((await accepting(new AppendOnlyInbox(file('append.log')))).requestListener())
  },

  async 'mounted, PostgreSQL inbox'() {
    const app = express()
    const inbox = new PostgresInbox({ connectionString: process.env.BENCH_POSTGRES, logger: false })
    app.post(path, (await accepting(inbox)).middleware())
    return createServer(app)
  },

  'insert by hand': async () => createServer(await insertByHand(process.env.BENCH_POSTGRES, handle)),

  'mounted, Redis store': () => mountedOnRedis(process.env.BENCH_REDIS),
  'mounted, Redis store that syncs': () => mountedOnRedis(process.env.BENCH_REDIS_THAT_SYNCS),

  'bare express'() {
    const app = express()
    app.post(path, express.raw({ type: () => true }), (_request, response) => {
      handle()
      response.sendStatus(200)
    })
    return createServer(app)
  },

  mounted,

  // Verifies, and no more: no limit on time, no second secret, nothing kept from being handled twice.
  'hand-written'() {
    const { callbackUrl, secret } = subscription
    const { host, pathname } = new URL(callbackUrl)
    const key = createSecretKey(secret, 'utf8')
    const app = express()
    app.post(path, express.raw({ type: () => true }), (request, response) => {
      const bodyHash = hash('sha256', request.body, 'base64')
      const text = `${pathname}\n${request.get('authorization-timestamp')};${host};${bodyHash}`
      const expected = createHmac('sha256', key).update(text).digest('base64')
      const received = Buffer.from(request.get('authorization') ?? '')
      const wanted = Buffer.from(`HMAC-SHA256 Signature=${expected}`)
      if (received.length !== wanted.length || !timingSafeEqual(received, wanted)) {
        return response.sendStatus(401)
      }
      handle(JSON.parse(request.body))
      response.sendStatus(200)
    })
    return createServer(app)
  },

  octokit() {
    const webhooks = new Webhooks({ secret: subscription.secret })
    webhooks.on('push', handle)
    const app = express()
    app.use(createNodeMiddleware(webhooks, { path }))
    return createServer(app)
  },

  'bare node:http'() {
    return createServer((request, response) => {
      const chunks = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        handle(Buffer.concat(chunks))
        response.writeHead(200, { 'Content-Length': 0 }).end()
      })
    })
  },

  // What it costs at least to see callbacks through one after the other: the body is hashed and signed, and that is all.
  'node:http and cryptography'() {
    const { callbackUrl, secret } = subscription
    const { host, pathname } = new URL(callbackUrl)
    const key = createSecretKey(secret, 'utf8')
    return createServer((request, response) => {
      const chunks = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const bodyHash = hash('sha256', Buffer.concat(chunks), 'base64')
        const text = `${pathname}\n${request.headers['authorization-timestamp']};${host};${bodyHash}`
        handle(createHmac('sha256', key).update(text).digest('base64'))
        response.writeHead(200, { 'Content-Length': 0 }).end()
      })
    })
  },

  // As `countersign serve` starts it, health checks on Express included.
  standalone: () => startReceiverServer(countersign(), 10_000, parseServerOptions({ port: 0 })),
  'standalone, diagnosis': () => explaining({}),
  'standalone, no diagnosis': () => explaining({ diagnosis: false }),
}

function explaining(options) {
  const receiver = countersign({ logger: countExplanations, ...options })
  return startReceiverServer(receiver, 10_000, parseServerOptions({ port: 0 }))
}

const server = await servers[process.argv[2]]()
if ('listen' in server) server.listen(0, '127.0.0.1', () => process.send(server.address()))
else process.send(server.address)

// How many were handled since the last time, and the processor time that took, also what no answer waits for.
let before = process.cpuUsage()
process.on('message', async () => {
  await idle()
  const { user, system } = process.cpuUsage(before)
  process.send({ handled, explained, cpuSeconds: (user + system) / 1e6 })
  handled = explained = 0
  before = process.cpuUsage()
})
