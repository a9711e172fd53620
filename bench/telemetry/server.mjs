// A mounted receiver whose metrics and traces a message turns on and off.
import { createServer } from 'node:http'
import express from 'express'
import { createReceiver } from 'countersign'
import { path, subscription } from '../receiver/requests.mjs'
import { telemetryModes } from './modes.mjs'

let handled = 0
const receiver = createReceiver({ subscriptions: [subscription], logger: false })
receiver.on(subscription.eventTypeName, () => void handled++)
const modes = telemetryModes(receiver)

const app = express()
const withinMode = (_request, response, next) => modes.run(next, (end) => response.on('finish', end))
app.post(path, withinMode, receiver.middleware())
const server = createServer(app)
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, modes: modes.names }))

let before = process.cpuUsage()
process.on('message', ({ mode }) => {
  if (mode !== undefined) modes.choose(mode)
  const { user, system } = process.cpuUsage(before)
  process.send({ handled, cpuSeconds: (user + system) / 1e6 })
  handled = 0
  before = process.cpuUsage()
})
