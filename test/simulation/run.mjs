// Tries schedules: for a time (`npm run simulate -- --for 60s`), a number of them (`--runs 1000`), or one (`--seed N`, with `--trace` to
// see it also if nothing is wrong). The seed decides which inbox is tried, unless `--inbox` does: memory, sqlite or postgres. With `--brief` a
// failure is only named. `--plan file` tries the schedule in a file, as in found/, which later versions of plan.mjs do not make any
// more. `--defects` tries schedules with each defect of defect-list.mjs (`--only words`), and `--check` says whether
// the sources still have what each of them changes.
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { INBOXES, planOf } from './plan.mjs'
import { hasPostgres, stopPostgres } from './postgres.mjs'
import { shrink } from './shrink.mjs'
import { simulate } from './simulate.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    for: { type: 'string' },
    inbox: { type: 'string' },
    plan: { type: 'string' },
    trace: { type: 'boolean' },
    brief: { type: 'boolean' },
    defects: { type: 'boolean' },
    only: { type: 'string' },
    check: { type: 'boolean' },
  },
})
if (values.check || values.defects) {
  const { checkDefects, tryDefects } = await import('./defects.mjs')
  if (values.check) checkDefects()
  else tryDefects({ seed: Number(values.seed ?? 1), runs: Number(values.runs ?? 2_000), only: values.only })
  process.exit()
}
const given = values.plan && JSON.parse(readFileSync(values.plan, 'utf8'))
const planAt = (seed) => given ?? planOf(seed, inboxes)
const first = given?.seed ?? Number(values.seed ?? randomInt(2 ** 31))
const runs =
  given || (values.seed !== undefined && !values.runs && !values.for) ? 1 : Number(values.runs ?? Infinity)
const endsAt =
  values.for || !values.runs ? performance.now() + 1_000 * parseFloat(values.for ?? '60') : Infinity

const inboxes = values.inbox === undefined ? INBOXES : [values.inbox]
if (inboxes.includes('postgres') && !hasPostgres()) {
  console.log('skipped: PostgreSQL is not installed')
  process.exit()
}
console.log(`seeds from ${first}, ${inboxes.join(' and ')}`)
let tried = 0
let steps = 0
const startedAt = performance.now()
const isOver = () => tried >= runs || (runs > 1 && performance.now() >= endsAt)
while (!isOver()) {
  const seed = first + tried++
  const ran = await simulate(planAt(seed))
  steps += ran.steps
  if (ran.faults.length === 0) {
    if (values.trace) console.log(ran.trace.join('\n'))
    continue
  }
  console.log(`seed ${seed}: ${ran.faults.join('; ')}`)
  process.exitCode = 1
  if (values.brief) break
  const { plan, trace } = await shrink(planAt(seed))
  console.log(`made smaller to ${plan.actions.length} actions, with ${JSON.stringify(plan.settings)}:`)
  console.log(trace.join('\n'))
  break
}
const seconds = (performance.now() - startedAt) / 1_000
console.log(`${tried} schedules, ${steps} steps, ${seconds.toFixed(1)} s`)
await stopPostgres()
