// Tries schedules: `npm run simulate -- --for 60s`, `--runs 1000`, or `--seed N` for one, with `--trace`. `--inbox` is memory or sqlite; without
// it the seed decides.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { INBOXES, planOf } from './plan.mjs'
import { shrink } from './shrink.mjs'
import { simulate } from './simulate.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    for: { type: 'string' },
    inbox: { type: 'string' },
    trace: { type: 'boolean' },
  },
})
const first = Number(values.seed ?? randomInt(2 ** 31))
const runs = values.seed !== undefined && !values.runs && !values.for ? 1 : Number(values.runs ?? Infinity)
const endsAt =
  values.for || !values.runs ? performance.now() + 1_000 * parseFloat(values.for ?? '60') : Infinity

const inboxes = values.inbox === undefined ? INBOXES : [values.inbox]
console.log(`seeds from ${first}, ${inboxes.join(' and ')}`)
let tried = 0
let steps = 0
const startedAt = performance.now()
const isOver = () => tried >= runs || (runs > 1 && performance.now() >= endsAt)
while (!isOver()) {
  const seed = first + tried++
  const ran = await simulate(planOf(seed, inboxes))
  steps += ran.steps
  if (ran.faults.length === 0) {
    if (values.trace) console.log(ran.trace.join('\n'))
    continue
  }
  console.log(`seed ${seed}: ${ran.faults.join('; ')}`)
  const { plan, trace } = await shrink(planOf(seed, inboxes))
  console.log(`made smaller to ${plan.actions.length} actions, with ${JSON.stringify(plan.settings)}:`)
  console.log(trace.join('\n'))
  process.exitCode = 1
  break
}
const seconds = (performance.now() - startedAt) / 1_000
console.log(`${tried} schedules, ${steps} steps, ${seconds.toFixed(1)} s`)
