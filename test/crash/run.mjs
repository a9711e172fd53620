// Kills real processes under load, at every step and at random, and compares what is left with the promises of the inbox.
//   node test/crash/run.mjs [--kills 210] [--seed 1] [--write] [--inbox sqlite] [--receivers 1] [--workers 0] [--at-once 1]
//     [--transactional] [--together] [--only words] [--handler-ms 4] [--drain-ms 30000]
// Without workers the receivers handle what they store. With workers they only store. With `--inbox postgres` the database is
// killed as well. `--at-once` runs several steps beside each other, each with an inbox of its own. `--together` runs all steps
// on one inbox, one after the other. `--only` runs the steps whose name has these words. A handler takes up to `--handler-ms`.
// What makes no progress for `--drain-ms` at the end is stuck.
import { parseArgs } from 'node:util'
import { ENGINES } from './engines.mjs'
import { resultTables, writeResult } from './result-tables.mjs'
import { runStep } from './run-step.mjs'
import { stepsOf } from './steps.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '210' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    inbox: { type: 'string', default: 'sqlite' },
    receivers: { type: 'string', default: '1' },
    workers: { type: 'string', default: '0' },
    'at-once': { type: 'string', default: '1' },
    transactional: { type: 'boolean', default: false },
    together: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    'handler-ms': { type: 'string', default: '4' },
    'drain-ms': { type: 'string', default: '30000' },
    write: { type: 'boolean', default: false },
  },
})
const { seed, inbox, receivers, workers, transactional: isTransactional } = values
if (!ENGINES[inbox]) throw new Error(`--inbox ${inbox}: there is ${Object.keys(ENGINES).join(', ')}`)
if (isTransactional && (inbox !== 'postgres' || workers === '0'))
  throw new Error('--transactional needs --inbox postgres and --workers')
const fleetSize = { receiver: Number(receivers), worker: Number(workers) }
const isAlone = fleetSize.receiver + fleetSize.worker === 1
const steps = stepsOf({ isAlone, hasDatabase: inbox === 'postgres', isTransactional }).filter(({ step }) =>
  step.includes(values.only),
)
const limits = { handlerMs: Number(values['handler-ms']), drainMs: Number(values['drain-ms']) }

// At the exit each process and each server that runs is killed.
process.setMaxListeners(0)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const random = generator(Number(seed))
const groups = values.together
  ? [{ step: 'all steps, one after the other', strikes: steps, kills: Number(values.kills) }]
  : steps.map((each, index) => ({ step: each.step, strikes: [each], kills: killsAt(index) }))
const waiting = groups
  .filter(({ kills }) => kills > 0)
  .map((each) => ({ ...each, random: generator(random() * 2 ** 32) }))
const results = new Map(waiting.map(({ step }) => [step, undefined]))
const lane = async () => {
  for (let each; (each = waiting.shift());) {
    const result = await runStep({ engineName: inbox, fleetSize, isTransactional, ...limits, ...each })
    results.set(each.step, result)
    console.error(each.step, JSON.stringify(result))
  }
}
await Promise.all(Array.from({ length: Number(values['at-once']) }, lane))
const rows = [...results].map(([step, result]) => ({ step, ...result }))

const tables = resultTables(rows, isTransactional)
const processes = isAlone ? '' : `, ${receivers} receivers, ${workers} workers`
const handler = isTransactional ? ', transactional handler' : ''
console.log(`seed ${seed}, Node ${process.versions.node}, ${inbox}${processes}${handler}\n\n${tables}`)
if (values.write) writeResult(tables, inbox + (isTransactional ? ', transactional' : ''))
const VIOLATIONS = ['lost', 'stuck', 'twiceAtOnce', 'unexplained', 'missingRows', 'extraRows']
const isClean = (row) => VIOLATIONS.every((name) => !row[name])
if (!rows.every(isClean) || rows.every(({ acknowledged }) => acknowledged === 0)) {
  console.log('\nThe promises of the inbox did NOT hold.')
  process.exitCode = 1
}

/** How many of the kills the step with this index has. */
function killsAt(index) {
  return Math.floor((Number(values.kills) + index) / steps.length)
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
