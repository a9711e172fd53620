import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PROGRAM = join(__dirname, 'run.mjs')

async function simulated(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args])
  return stdout
}

it('nothing is wrong in the first schedules, which are the same in each run of the tests', async () => {
  expect(await simulated('--seed', '1', '--runs', '50')).toContain('\n50 schedules, ')
})

/** As plan.mjs chooses them. */
const INBOXES = process.getBuiltinModule?.('node:sqlite') ? ['memory', 'sqlite'] : ['memory']

it.each(INBOXES)('a seed is one run, with the inbox: %s', async (inbox) => {
  const args = ['--seed', '1001', '--inbox', inbox, '--trace']
  const [one, other] = await Promise.all([1, 2].map(() => simulated(...args)))
  const traceOf = (output: string) => output.split('\n').slice(0, -2)
  expect(traceOf(one!).length).toBeGreaterThan(50)
  expect(traceOf(one!)).toEqual(traceOf(other!))
})

it('a step of the clock of the inbox between the begin of a run and its answer is no fault', async () => {
  expect(await simulated('--seed', '2001226', '--inbox', 'memory')).toContain('\n1 schedules, ')
})
