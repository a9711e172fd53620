// A mounted receiver with a very full inbox. A message opens and closes three pages of its console: the receiver without them is then
// measured in the same process, and not beside another process that reads its inbox.
import { createServer } from 'node:http'
import express from 'express'
import { createReceiver } from 'countersign'
import { createConsole } from 'countersign/console'
import { SqliteInbox } from 'countersign/sqlite'
import { path, subscription } from '../receiver/requests.mjs'

/** As often as an open page asks. */
const EVERY_MS = 5_000
const PAGES = ['overview?range=hour', 'overview?range=week', 'entries?state=dead']

let accepted = 0
const inbox = new SqliteInbox({ file: process.argv[2], logger: false })
// Without handlers: what is measured is how fast callbacks are durably accepted.
const receiver = createReceiver({ subscriptions: [subscription], inbox, logger: false })
receiver.onOutcome(({ status }) => void (status === 200 && accepted++))
await receiver.start()
const app = express()
app.post(path, receiver.middleware())
app.use('/console', createConsole({ receiver, logger: false }))

const server = createServer(app)
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

let timers = []
let before = process.cpuUsage()
process.on('message', ({ isOpen }) => {
  if (isOpen !== undefined) {
    timers.forEach(clearTimeout)
    timers = isOpen ? PAGES.map(openPage) : []
  }
  const { user, system } = process.cpuUsage(before)
  process.send({ accepted, cpuSeconds: (user + system) / 1e6 })
  accepted = 0
  before = process.cpuUsage()
})

function openPage(page, at) {
  const ask = () =>
    fetch(`http://127.0.0.1:${server.address().port}/console/live/${page}`).then((answer) => answer.text())
  return setTimeout(
    () => {
      timers[at] = setInterval(ask, EVERY_MS)
      void ask()
    },
    (at * EVERY_MS) / PAGES.length,
  )
}
