import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PROGRAM = join(__dirname, 'run.mjs')

async function simulated(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args])
  return stdout
}

// With few descriptors: what a killed process leaves open would add up in a million schedules.
it('nothing is wrong in the first schedules, which are the same in each run of the tests', async () => {
  const run = [process.execPath, PROGRAM, '--seed', '1', '--runs', '50']
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -n 80 && exec "$@"', 'sh', ...run])
  expect(stdout).toContain('\n50 schedules, ')
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

/** Schedules in which something was wrong once. */
const FOUND = [
  [
    'what an operator retries before the worker knows that its end was recorded is handled',
    'retry-before-the-end-is-known',
  ],
  [
    'what is claimed again before the worker knows that its end was recorded keeps its slot',
    'claimed-again-before-the-end-is-known',
  ],
  ...(INBOXES.includes('sqlite')
    ? [
        [
          'what another process stores while the clock is ahead between two claims is handled',
          'clock-ahead-between-two-claims',
        ],
        [
          'what is handed back may be claimed again in the same commit',
          'handed-back-and-claimed-in-one-commit',
        ],
      ]
    : []),
] as [string, string][]

it.each(FOUND)('%s', async (_what, plan) => {
  expect(await simulated('--plan', join(__dirname, 'found', `${plan}.json`))).toContain('\n1 schedules, ')
})
