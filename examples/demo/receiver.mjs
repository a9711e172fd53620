// The receiver of the demonstration: a process of its own, so that it can be killed. What its handler did it writes into a
// file, line by line, where a kill cannot take it back.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createReceiver } from 'countersign'
import { SqliteInbox } from 'countersign/sqlite'

const { SUBSCRIPTIONS, INBOX_FILE, LEDGER } = process.env

const record = (line) => appendFileSync(LEDGER, `${JSON.stringify({ ...line, pid: process.pid })}\n`)

const receiver = createReceiver({
  subscriptions: JSON.parse(SUBSCRIPTIONS),
  inbox: new SqliteInbox({ file: INBOX_FILE, logger: false }),
  logger: false,
  maxBodyBytes: 65_536,
  bodyTimeoutMs: 500,
  handlerTimeoutMs: 1_000,
  // Short, for what a killed process was handling to be taken up soon.
  leaseMs: 1_500,
  retryDelayMs: 50,
  pollMs: 50,
})
receiver.on('transfers.book-completed', async ({ payload, idempotencyKey: key }, { attempt }) => {
  record({ key, attempt, at: 'start' })
  await delay(2)
  if (payload.failsAtFirst && attempt === 1) {
    record({ key, attempt, at: 'end', failed: true })
    throw new Error('the ledger is locked')
  }
  record({ key, attempt, at: 'end' })
})
receiver.onOutcome(({ code, name, status }) => process.send({ code, outcome: name, status }))

await receiver.start()
const server = createServer(receiver.requestListener())
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

process.on('disconnect', () => process.exit(1))
process.on('SIGTERM', () => {
  void receiver.stop({ server }).then(() => process.exit(0))
})
