const assert = require('node:assert/strict')
const { once } = require('node:events')
const { readFileSync } = require('node:fs')
const { createReceiver } = require('countersign')
const { createClient } = require('countersign/client')
const { verifyCallback } = require('countersign/signature')
const { startServiceSimulator } = require('countersign/simulator')
const { signedCallback } = require('countersign/testing')
const express = require('express')

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

async function main() {
  const app = express()
  app.post('/hooks/transfers', receiver.middleware())
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

  const simulator = await startServiceSimulator({ deliverTo: `http://127.0.0.1:${server.address().port}` })
  const client = createClient({ baseUrl: simulator.baseUrl, ...simulator.credentials })
  assert.equal((await client.subscriptions.create(subscription)).ok, true)
  assert.equal((await simulator.deliver()).attempts[0].status, 200)
  await client.close()
  await simulator.close()

  await receiver.stop()
  server.closeAllConnections()
  server.close()
  console.log(
    `${vectors.length} vectors; callbacks genuine, repeated and forged: ${statuses.join(', ')}; one simulated`,
  )
}

void main()
