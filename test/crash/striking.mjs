// What the receivers and the workers of the crash test share: the inbox, the handler, and the strike. A process kills itself,
// or the database, with SIGKILL when it passes a named step for the n-th time. The product has no switch for that, so the
// methods around the step are wrapped here.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ENGINES } from './engines.mjs'

const given = JSON.parse(process.env.CRASH_TEST)
const engine = await ENGINES[given.engine]()
export const { subscription, handles, isTransactional } = given

export const EMPTYING = { ...engine.limits, pollMs: 50, retryDelayMs: 20, maxRetryDelayMs: 200 }

const killDatabase = given.databasePid && engine.databaseKiller()
let passes = 0

function strike(step) {
  if (step !== given.step || ++passes !== given.pass) return
  if (killDatabase) killDatabase(given.databasePid)
  else {
    record({ at: 'killed' })
    process.kill(process.pid, 'SIGKILL')
  }
}

export async function openInbox() {
  const inbox = await engine.create(given.settings)
  // What receivers and workers use.
  const worked = inbox[Symbol.for('countersign.engine')]
  engine.strikeAtCommits(strike)
  around('add', 'after verify', 'after commit, before the answer')
  around('claim', undefined, 'after claim', ({ entries }) => entries.length > 0)
  around('settle', 'after the handler, before complete', 'after complete')
  return inbox

  function around(method, before, after, isPass = () => true) {
    const call = worked[method].bind(worked)
    worked[method] = async (...args) => {
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

export async function handler({ idempotencyKey: key }, { transaction }) {
  record({ key, at: 'start' })
  try {
    await delay(Math.random() * given.handlerMs)
    strike('in the handler')
    if (isTransactional) {
      await engine.writeRow(transaction, key)
      strike('after the ledger row')
    }
  } catch (error) {
    record({ key, at: 'failed' })
    throw error
  }
  record({ key, at: 'end' })
}
