// Kills real processes under load, at every step and at random, and compares what is left with the promises of the inbox.
//   node test/crash/run.mjs [--kills 210] [--seed 1] [--write] [--inbox sqlite] [--receivers 1] [--workers 0] [--at-once 1]
// Without workers the receivers handle what they store. With workers they only store. `--at-once` runs several steps beside
// each other, each with an inbox of its own.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startProcess } from './crash-process.mjs'
import { ENGINES } from './engines.mjs'
import { Fleet } from './fleet.mjs'
import { Load } from './load.mjs'
import { resultTables, writeResult } from './result-tables.mjs'
import { verdict } from './verdict.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '210' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    inbox: { type: 'string', default: 'sqlite' },
    receivers: { type: 'string', default: '1' },
    workers: { type: 'string', default: '0' },
    'at-once': { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
})
const engine = ENGINES[values.inbox]
if (!engine) throw new Error(`--inbox ${values.inbox}: there is ${Object.keys(ENGINES).join(', ')}`)
const fleetSize = { receiver: Number(values.receivers), worker: Number(values.workers) }
const isAlone = fleetSize.receiver + fleetSize.worker === 1

/** The steps, and which processes pass them when receivers and workers are separate. */
const STEPS = [
  { step: 'after verify', roles: ['receiver'] },
  { step: 'before commit', roles: ['receiver', 'worker'] },
  { step: 'after commit, before the answer', roles: ['receiver'] },
  { step: 'after claim', roles: ['worker'] },
  { step: 'in the handler', roles: ['worker'] },
  { step: 'after the handler, before complete', roles: ['worker'] },
  { step: 'after complete', roles: ['worker'] },
  { step: 'at random', roles: ['receiver', 'worker'] },
  ...(isAlone ? [{ step: 'at random, beside a second process', roles: ['receiver'], second: 1 }] : []),
]
const SUBSCRIPTION = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'only-for~this.test',
}

const random = generator(Number(values.seed))
const waiting = STEPS.map((each, index) => ({
  ...each,
  kills: Math.floor((Number(values.kills) + index) / STEPS.length),
  random: generator(random() * 2 ** 32),
})).filter(({ kills }) => kills > 0)
const results = new Map(waiting.map(({ step }) => [step, undefined]))
const lane = async () => {
  for (let each; (each = waiting.shift());) results.set(each.step, await strikeAt(each))
}
await Promise.all(Array.from({ length: Number(values['at-once']) }, lane))
const rows = [...results].map(([step, result]) => ({ step, ...result }))

const tables = resultTables(rows)
const { seed, inbox, receivers, workers } = values
const processes = isAlone ? '' : `, ${receivers} receivers, ${workers} workers`
console.log(`seed ${seed}, Node ${process.versions.node}, ${inbox}${processes}\n\n${tables}`)
if (values.write) writeResult(tables)
const isClean = ({ lost, stuck, twiceAtOnce, unexplained }) => lost + stuck + twiceAtOnce + unexplained === 0
if (!rows.every(isClean) || rows.every(({ acknowledged }) => acknowledged === 0)) {
  console.log('\nThe promises of the inbox did NOT hold.')
  process.exitCode = 1
}

/** One inbox, and processes that are killed on it one after the other. */
async function strikeAt({ step, roles, second = 0, kills, random }) {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-crash-'))
  const { settings, remove } = await engine.prepare()
  const ledger = join(directory, 'ledger.jsonl')
  writeFileSync(ledger, '')
  const handles = fleetSize.worker === 0
  const given = { engine: values.inbox, settings, ledger, subscription: SUBSCRIPTION, handles }
  const load = new Load(SUBSCRIPTION)
  const killedAt = new Map()
  const others = new Fleet(given)
  try {
    for (let kill = 0; kill < kills; kill++) {
      const role = handles ? 'receiver' : roles[kill % roles.length]
      const size = { ...fleetSize, receiver: fleetSize.receiver + second }
      await others.become({ ...size, [role]: size[role] - 1 })
      const struck = await startProcess(role, { ...given, step, pass: 1 + Math.floor(random() * 30) })
      const timer = new AbortController()
      // The random moment; or, at a named step that was not passed so often, the end of waiting for it.
      const limit = step.startsWith('at random') ? 20 + random() * 250 : 5_000
      delay(limit, undefined, { signal: timer.signal }).then(
        () => struck.signal('SIGKILL'),
        () => {},
      )
      await load.drive([...others.ports, ...(struck.port ? [struck.port] : [])], struck.ended)
      await struck.ended
      timer.abort()
      killedAt.set(struck.pid, struck.killedAt)
    }
    const left = await drain(given, others)
    const lines = readFileSync(ledger, 'utf8').split('\n').filter(Boolean)
    const written = lines.map((line) => JSON.parse(line))
    const { acknowledged, sent } = load
    const result = verdict({ acknowledged, ledger: written, killedAt, ...left })
    return { kills, sent, acknowledged: acknowledged.size, ...result }
  } finally {
    others.kill()
    await remove()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Leaves one process alone that handles for as long as there is work, at most 30 seconds. */
async function drain({ settings, handles }, others) {
  await others.become(handles ? { receiver: 1, worker: 0 } : { receiver: 0, worker: 1 })
  const inbox = await engine.create(settings)
  await inbox.open()
  const giveUpAt = Date.now() + 30_000
  let unfinished = Infinity
  while (unfinished > 0 && Date.now() < giveUpAt) {
    const { stored, running, retrying, dead, unhandled, quarantined } = await inbox.stats()
    unfinished = stored + running + retrying + dead + unhandled + quarantined
    await delay(20)
  }
  await others.become({ receiver: 0, worker: 0 })
  const handled = new Set()
  for (let afterId; ;) {
    const page = await inbox.list({ states: ['handled'] }, { afterId, limit: 500 })
    for (const { idempotencyKey } of page) handled.add(idempotencyKey)
    if (page.length < 500) break
    afterId = page.at(-1).id
  }
  await inbox.close()
  return { handled, unfinished }
}

/** mulberry32: the same seed strikes at the same moments. */
function generator(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
