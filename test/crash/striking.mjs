// What the receivers and the workers of the crash test share: the inbox, the handler, and the strike. A process kills itself
// with SIGKILL when it passes a named step for the n-th time. The product has no switch for that, so the methods around the
// step are wrapped here.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ENGINES } from './engines.mjs'

const given = JSON.parse(process.env.CRASH_TEST)
export const { subscription, handles } = given

/** Short, so that the entries of a killed process are due again soon. */
export const EMPTYING = { leaseMs: 600, handlerTimeoutMs: 500, pollMs: 50 }

let passes = 0

function strike(step) {
  if (step === given.step && ++passes >= given.pass) process.kill(process.pid, 'SIGKILL')
}

export async function openInbox() {
  const engine = ENGINES[given.engine]
  const inbox = await engine.create(given.settings)
  engine.beforeCommit(() => strike('before commit'))
  around('add', 'after verify', 'after commit, before the answer')
  around('claim', undefined, 'after claim', ({ entries }) => entries.length > 0)
  around('settle', 'after the handler, before complete', 'after complete')
  return inbox

  function around(method, before, after, isPass = () => true) {
    const call = inbox[method].bind(inbox)
    inbox[method] = async (...args) => {
      strike(before)
      const answer = await call(...args)
      if (isPass(answer)) strike(after)
      return answer
    }
  }
}

// O_APPEND: a line that was written is in the file, whatever becomes of the process.
const record = (line) =>
  appendFileSync(given.ledger, `${JSON.stringify({ ...line, pid: process.pid, time: Date.now() })}\n`)

export async function handler({ idempotencyKey: key }) {
  record({ key, at: 'start' })
  await delay(Math.random() * 4)
  strike('in the handler')
  record({ key, at: 'end' })
}
