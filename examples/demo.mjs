// The main job on real input, in one command: a receiver on a socket of its own, recorded and freshly signed callbacks
// sent to it byte for byte, and a table of what became of each. Exits with 0 only if every outcome was right.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createReceiver } from 'countersign'
import {
  loadRecordedRequests,
  recordedAt,
  recordedSubscriptions,
  sendRawRequest,
  signedCallback,
} from 'countersign/testing'

const recorded = await loadRecordedRequests(fileURLToPath(new URL('../fixtures/recorded', import.meta.url)))
const [subscription] = recordedSubscriptions(recorded)

// The recordings are as old as they are: while they are replayed, the receiver's clock stands where it stood then.
let clock = Date.now
let latest
const handled = []
const receiver = createReceiver({
  subscriptions: recordedSubscriptions(recorded),
  clock: () => clock(),
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
receiver.on('transfers.book-completed', (event) => void handled.push(event.payload.Id))
receiver.onOutcome((outcome) => (latest = outcome))

const server = createServer(receiver.requestListener()).listen(0, '127.0.0.1')
await once(server, 'listening')
await receiver.start()

const rows = []
async function send(what, bytes, expected) {
  const { status } = await sendRawRequest(bytes, server.address())
  const right = status === expected.status && latest.outcome === expected.outcome
  rows.push({ what, status, outcome: latest.outcome, code: latest.code, right })
}

for (const request of recorded) {
  const signedAt = recordedAt(request)
  if (signedAt) clock = () => signedAt.getTime() + 1_000
  await send(`recorded: ${request.name}`, request.bytes, request.expect)
}

clock = Date.now
const hours = 3_600_000
const fresh = (options) => signedCallback({ subscription, ...options }).toHttp()
const genuine = { idempotencyKey: randomUUID(), payload: { Id: randomUUID() }, timestamp: new Date() }
const forger = { ...subscription, secret: 'a guess' }
await send('genuine', fresh(genuine), { status: 200, outcome: 'handled' })
await send('the same once more', fresh(genuine), { status: 200, outcome: 'duplicate' })
await send('the same, signed anew', fresh({ ...genuine, timestamp: new Date(Date.now() + 60_000) }), {
  status: 200,
  outcome: 'duplicate',
})
await send('its key with another body', fresh({ ...genuine, payload: { Id: randomUUID() } }), {
  status: 409,
  outcome: 'refused',
})
await send('a replay under a fresh key', fresh({ ...genuine, idempotencyKey: randomUUID() }), {
  status: 409,
  outcome: 'refused',
})
await send('its event type rewritten', fresh({ ...genuine, eventType: 'transfers.reversed' }), {
  status: 401,
  outcome: 'refused',
})
await send('forged: signed with a guess', fresh({ subscription: forger }), {
  status: 401,
  outcome: 'refused',
})
await send('stale: signed 25 hours ago', fresh({ timestamp: new Date(Date.now() - 25 * hours) }), {
  status: 401,
  outcome: 'refused',
})
await send('signed in the future', fresh({ timestamp: new Date(Date.now() + hours) }), {
  status: 401,
  outcome: 'refused',
})

await receiver.stop()
server.close()

const line = (...cells) =>
  console.log([34, 8, 11, 32, 0].map((width, index) => cells[index].padEnd(width)).join(''))
line('what was sent', 'answer', 'outcome', 'because', 'right?')
for (const { what, status, outcome, code, right } of rows) {
  line(what, String(status), outcome, code, right ? 'yes' : 'NO')
}
const wrong = rows.filter(({ right }) => !right).length
const genuineOnes = rows.filter(({ outcome }) => outcome === 'handled').length
const handledOnce = handled.length === genuineOnes && new Set(handled).size === handled.length
console.log(
  `\n${rows.length} callbacks sent, ${handled.length} handled${handledOnce ? ', each once' : ', NOT each once'}; ` +
    `${wrong === 0 ? 'every outcome was right' : `${wrong} outcomes were WRONG`}.`,
)
process.exitCode = wrong === 0 && handledOnce ? 0 : 1
