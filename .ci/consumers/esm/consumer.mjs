import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createReceiver, MemoryInbox } from 'countersign'
import { forwardTo } from 'countersign/bullmq'
import { createClient } from 'countersign/client'
import { createConsole } from 'countersign/console'
import { verifyCallback } from 'countersign/signature'
import { startServiceSimulator } from 'countersign/simulator'
import { signedCallback } from 'countersign/testing'
import express from 'express'

const { vectors } = JSON.parse(readFileSync('signature.json', 'utf8'))
for (const { callbackUrl, secret, timestamp, bodyBase64, authorization, expect } of vectors) {
  const body = Buffer.from(bodyBase64, 'base64')
  const verdict = verifyCallback({ callbackUrl, secret, timestamp, authorization, body })
  assert.deepEqual(JSON.parse(JSON.stringify(verdict)), expect)
}

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'the secret text of a consumer',
}
const handled = []
const receiver = createReceiver({ subscriptions: [subscription] })
receiver.on('transfers.book-completed', (event) => void handled.push(event.payload.Id))

// Without BullMQ: only who makes a queue needs it.
assert.throws(() => forwardTo({}), { code: 'ERR_OPTION_INVALID', option: 'queue' })

const app = express()
app.post('/hooks/transfers', receiver.middleware())
app.use('/console', createConsole({ inbox: new MemoryInbox() }))
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')

const genuine = signedCallback({ subscription, payload: { Id: '64b87e81-f9c7-4125-8565-b199c6e65b4f' } })
const forged = signedCallback({ subscription: { ...subscription, secret: 'another secret text' } })
const statuses = []
for (const { path, ...request } of [genuine, genuine, forged]) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, request)
  statuses.push(response.status)
}
assert.deepEqual(statuses, [200, 200, 401])
assert.deepEqual(handled, ['64b87e81-f9c7-4125-8565-b199c6e65b4f'])

// With the browser libraries, which are no dependencies of the package.
const consoleAt = (path) => fetch(`http://127.0.0.1:${server.address().port}/console/${path}`)
const page = await (await consoleAt('')).text()
const scripts = [...page.matchAll(/ src="(assets\/[^"]+\.js)"/g)].map(([, path]) => path)
assert.equal(scripts.length, 3)
for (const script of scripts) assert.equal((await consoleAt(script)).status, 200)

const simulator = await startServiceSimulator({ deliverTo: `http://127.0.0.1:${server.address().port}` })
const client = createClient({ baseUrl: simulator.baseUrl, ...simulator.credentials })
const { ok } = await client.subscriptions.create(subscription)
assert.equal(ok, true)
assert.equal((await simulator.deliver()).attempts[0].status, 200)
await client.close()
await simulator.close()

await receiver.stop()
server.closeAllConnections()
server.close()
console.log(
  `${vectors.length} vectors; callbacks genuine, repeated and forged: ${statuses.join(', ')}; one simulated`,
)
