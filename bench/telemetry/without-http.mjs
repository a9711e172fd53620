// `receiver.receive` in one process, without HTTP: small costs are visible beside a callback that takes a tenth of the time.
import { createReceiver } from 'countersign'
import { signCallback } from 'countersign/signature'
import { randomUUID } from 'node:crypto'
import { path, subscription } from '../receiver/requests.mjs'
import { telemetryModes } from './modes.mjs'

const receiver = createReceiver({ subscriptions: [subscription], logger: false })
receiver.on(subscription.eventTypeName, () => {})
const modes = telemetryModes(receiver)
process.send({ modes: modes.names })

process.on('message', async ({ mode, count }) => {
  const requests = Array.from({ length: count }, makeRequest)
  modes.choose(mode)
  const before = process.cpuUsage()
  for (const request of requests) await receive(request)
  const { user, system } = process.cpuUsage(before)
  process.send({ cpuPerRequest: (user + system) / 1e6 / count })
})

async function receive(request) {
  let end = () => {}
  const receiving = new Promise((resolve) =>
    modes.run(
      () => resolve(receiver.receive(request)),
      (given) => (end = given),
    ),
  )
  const { status } = await receiving
  end()
  if (status !== 200) throw new Error(`a callback was answered ${status}`)
}

function makeRequest() {
  const body = Buffer.from(JSON.stringify({ Id: randomUUID(), Reference: 'x'.repeat(250) }))
  const timestamp = new Date().toUTCString()
  const headers = {
    Host: 'partner.example.com',
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    'X-Idempotency-Key': randomUUID(),
    'X-Event-Type': subscription.eventTypeName,
    'Authorization-Timestamp': timestamp,
    Authorization: signCallback({ ...subscription, timestamp, body }),
  }
  return { method: 'POST', path, rawHeaders: Object.entries(headers).flat(), body }
}
