// One inbox, and processes that are killed on it one after the other, or its database.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from './crash-process.mjs'
import { ENGINES } from './engines.mjs'
import { Fleet } from './fleet.mjs'
import { Load } from './load.mjs'
import { verdict } from './verdict.mjs'

const SUBSCRIPTION = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}
/** How long a process may take to pass a named step so often. */
const STEP_LIMIT_MS = 5_000

/** Kills so often, at each of these steps in turn. After `drainMs` without any progress, what is left is stuck. */
export async function runStep(options) {
  const { engineName, fleetSize, isTransactional, handlerMs, drainMs, strikes, kills, random } = options
  const directory = mkdtempSync(join(tmpdir(), 'countersign-crash-'))
  const engine = await ENGINES[engineName]()
  const { settings, remove, database, ledgerRows } = await engine.prepare()
  const killDatabase = strikes.some(({ killsDatabase }) => killsDatabase) && engine.databaseKiller()
  const ledger = join(directory, 'ledger.jsonl')
  writeFileSync(ledger, '')
  const handles = fleetSize.worker === 0
  const given = {
    engine: engineName,
    settings,
    ledger,
    subscription: SUBSCRIPTION,
    handles,
    isTransactional,
    handlerMs,
  }
  const load = new Load(SUBSCRIPTION)
  const killedAt = new Map()
  const outages = []
  const others = new Fleet(given)
  try {
    for (let kill = 0; kill < kills; kill++) {
      const { step, at = step, roles, second = 0, killsDatabase, both } = strikes[kill % strikes.length]
      const role = handles ? 'receiver' : roles[Math.floor((kill * roles.length) / kills)]
      const size = { ...fleetSize, receiver: fleetSize.receiver + second }
      await others.become({ ...size, [role]: size[role] - 1 })
      const databasePid = killsDatabase ? database.pid : undefined
      const struck = await startProcess(role, {
        ...given,
        step: at,
        pass: 1 + Math.floor(random() * 30),
        databasePid,
      })
      const timer = new AbortController()
      const strike = () => {
        if (databasePid) killDatabase(databasePid)
        if (!databasePid || both) struck.signal('SIGKILL')
      }
      // The random moment; or, at a named step that was not passed so often, the end of waiting for it.
      const limit = at === 'at random' || second ? 20 + random() * 250 : STEP_LIMIT_MS
      delay(limit, undefined, { signal: timer.signal }).then(strike, () => {})
      const restarted = databasePid && restart(database, outages, struck)
      await load.drive([...others.ports, ...(struck.port ? [struck.port] : [])], struck.ended)
      await Promise.all([struck.ended, restarted])
      timer.abort()
      if (struck.killedAt) killedAt.set(struck.pid, struck.killedAt)
    }
    const left = await drain(given, others, drainMs)
    const lines = readFileSync(ledger, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    for (const { at, pid, time } of lines) if (at === 'killed') killedAt.set(pid, time)
    const { acknowledged, sent } = load
    const result = verdict({
      acknowledged,
      ledger: lines.filter(({ key }) => key),
      rows: isTransactional ? await ledgerRows() : undefined,
      killedAt,
      outages,
      ...left,
    })
    return { kills, sent, acknowledged: acknowledged.size, ...result }
  } finally {
    others.kill()
    await remove()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Starts the database again when it has been killed, and then stops the process that was struck, in order. */
async function restart(database, outages, struck) {
  await database.ended
  const from = Date.now()
  await database.restart()
  outages.push({ from, to: Date.now() })
  await struck.stop()
}

/** Leaves one process alone that handles for as long as there is work. */
async function drain({ engine, settings, handles }, others, limitMs) {
  await others.become(handles ? { receiver: 1, worker: 0 } : { receiver: 0, worker: 1 })
  // Patient, because this process stands still while it makes the database of another step.
  const { create } = await ENGINES[engine]()
  const inbox = await create({ ...settings, busyTimeoutMs: limitMs })
  await inbox.open()
  let giveUpAt = Date.now() + limitMs
  let unfinished = Infinity
  while (unfinished > 0 && Date.now() < giveUpAt) {
    const { stored, running, retrying, dead, unhandled, quarantined } = (await inbox.stats()).counts
    const before = unfinished
    unfinished = stored + running + retrying + dead + unhandled + quarantined
    if (unfinished < before) giveUpAt = Date.now() + limitMs
    await delay(20)
  }
  await others.become({ receiver: 0, worker: 0 })
  const handled = new Set()
  let page
  do {
    page = await inbox.list({ states: ['handled'] }, { afterId: page?.next, limit: 500 })
    for (const { idempotencyKey } of page.entries) handled.add(idempotencyKey)
  } while (page.next)
  await inbox.close()
  return { handled, unfinished }
}
