// A receiver mounted in Express whose inbox is filled with as many entries as the argument says before its worker starts.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { createReceiver } from 'countersign'
import { SqliteInbox } from 'countersign/sqlite'
import { path, subscription } from '../receiver/requests.mjs'
import { fill } from './entries.mjs'

const backlog = Number(process.argv[2])
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
process.on('SIGTERM', () => process.exit())
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

const inbox = new SqliteInbox({ file: join(directory, 'backlog.db') })
await inbox.open()
await fill(inbox, backlog, { callers: 500 })

let handled = 0
let startedAt
let seconds
const receiver = createReceiver({ subscriptions: [subscription], inbox, concurrency: 256, logger: false })
// The oldest are handled first, so after that many the backlog is gone.
receiver.on(subscription.eventTypeName, () => {
  if (++handled === backlog) seconds = (performance.now() - startedAt) / 1000
})
startedAt = performance.now()
await receiver.start()
const app = express()
app.post(path, receiver.middleware())
const server = app.listen(0, '127.0.0.1', () => process.send(server.address()))
process.on('message', () => process.send({ seconds }))
