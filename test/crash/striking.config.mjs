// The configuration of a receiver that is about to be killed. It strikes itself with SIGKILL at the n-th pass of a named
// step: the product has no switch for that, so the methods around the step are wrapped here.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { SqliteInbox } from 'countersign/sqlite'

const { STRIKE_STEP, STRIKE_PASS, LEDGER, SUBSCRIPTION, INBOX_FILE } = process.env
let passes = 0

function strike(step) {
  if (step === STRIKE_STEP && ++passes >= Number(STRIKE_PASS)) process.kill(process.pid, 'SIGKILL')
}

// O_APPEND: a line that was written is in the file, whatever becomes of the process.
const record = (line) =>
  appendFileSync(LEDGER, `${JSON.stringify({ ...line, pid: process.pid, time: Date.now() })}\n`)

const { add, claim, finish } = SqliteInbox.prototype
SqliteInbox.prototype.add = async function (arrival) {
  strike('after verify')
  const added = await add.call(this, arrival)
  strike('after commit, before the answer')
  return added
}
SqliteInbox.prototype.claim = async function (request) {
  const claimed = await claim.call(this, request)
  if (claimed.entries.length > 0) strike('after claim')
  return claimed
}
SqliteInbox.prototype.finish = async function (claimed, end) {
  strike('after the handler, before complete')
  const held = await finish.call(this, claimed, end)
  strike('after complete')
  return held
}

// The drivers' own prototypes cannot be changed, so it is the connection's map of prepared statements that is listened to.
const { set } = Map.prototype
// oxlint-disable-next-line no-extend-native -- for the length of this process, which is short
Object.defineProperty(Map.prototype, 'set', {
  value(key, value) {
    if (key !== 'COMMIT') return set.call(this, key, value)
    const run = () => {
      strike('before commit')
      return value.run()
    }
    return set.call(this, key, { run })
  },
})

export default {
  port: 0,
  subscriptions: [JSON.parse(SUBSCRIPTION)],
  inbox: { file: INBOX_FILE },
  leaseMs: 600,
  handlerTimeoutMs: 500,
  pollMs: 50,
  logLevel: 'info',
  logFormat: 'json',
  handlers: {
    'transfers.book-completed': async ({ idempotencyKey: key }) => {
      record({ key, at: 'start' })
      await delay(Math.random() * 4)
      strike('in the handler')
      record({ key, at: 'end' })
    },
  },
}
