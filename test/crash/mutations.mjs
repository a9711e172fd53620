// Introduces known defects, one at a time, and reports what the crash test says of each: the table in docs/evidence.md.
//   node test/crash/mutations.mjs [--inbox sqlite] [--kills 36] [--only words] [--check]
// Each defect is made in a copy of the sources. Where the crash test passes, one of the tests that the list names must fail,
// which passes without the defect. With SQLite the processes are killed at all steps, `--kills` times. With PostgreSQL, where
// each step has a server of its own, they are killed at the step that the list names, a sixth of `--kills` times. `--check` only says whether the sources still have
// what each defect changes.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mutatedCopy, mutatedTexts, ROOT } from '../support/mutated-copy.mjs'
import { POSTGRES_MUTATIONS } from './mutation-list-postgres.mjs'
import { MUTATIONS } from './mutation-list.mjs'

const { values } = parseArgs({
  options: {
    inbox: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '36' },
    only: { type: 'string', default: '' },
    check: { type: 'boolean', default: false },
  },
})
const LISTS = { sqlite: MUTATIONS, postgres: POSTGRES_MUTATIONS }
const OPTIONS = {
  sqlite: () => ['--kills', values.kills, '--at-once', '3'],
  postgres({ kill, options = [], isPlain = false }) {
    const kills = String(Math.ceil(Number(values.kills) / 6))
    const handlers = isPlain ? [] : ['--transactional']
    const common = ['--receivers', '1', '--workers', '1', '--drain-ms', '15000', ...handlers]
    return ['--inbox', 'postgres', '--only', kill, '--kills', kills, ...common, ...options]
  },
}
const VIOLATIONS = ['lost', 'stuck', 'twice at once', 'repeats without a kill', 'missing rows', 'extra rows']

if (values.check) {
  for (const mutation of [...MUTATIONS, ...POSTGRES_MUTATIONS]) mutatedTexts(mutation)
  process.exit()
}
console.log('| defect | killed | the crash test | the test that fails |\n| --- | --- | --- | --- |')
const soundTests = new Map()
let isComplete = true
for (const mutation of LISTS[values.inbox].filter(({ defect }) => defect.includes(values.only))) {
  const copy = mutatedCopy(mutation)
  try {
    const seen = crashTest(copy, mutation)
    const failing = seen
      ? ''
      : (mutation.tests ?? []).find((test) => passesWithout(test) && fails(copy, test))
    if (failing === undefined) isComplete = false
    const cells = [mutation.defect, mutation.kill ?? 'at all steps', seen ?? 'passed', failing ?? 'NONE']
    console.log(`| ${cells.join(' | ')} |`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
process.exitCode = isComplete ? 0 : 1

/** The promises that did not hold, or undefined. */
function crashTest(copy, mutation) {
  const args = [join(copy, 'test/crash/run.mjs'), ...OPTIONS[values.inbox](mutation)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 400_000 })
  if (status === 0) return undefined
  const counts = totalsOf(stdout)
  if (counts.size === 0) return `ended with an error: ${/Error: .*/.exec(stderr)?.[0] ?? 'time-out'}`
  return VIOLATIONS.filter((name) => counts.get(name) > 0).join(', ')
}

/** The last row of each table, by the titles of the columns. */
function totalsOf(output) {
  const totals = new Map()
  let titles = []
  for (const line of output.split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells[1] === 'killed') titles = cells
    if (cells[1] === 'in all') titles.forEach((title, index) => totals.set(title, Number(cells[index])))
  }
  return totals
}

function passesWithout(test) {
  if (!soundTests.has(test)) soundTests.set(test, !fails(ROOT, test))
  return soundTests.get(test)
}

function fails(copy, test) {
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js')
  const env = { ...process.env, TESTS: 'quick and system' }
  const options = { cwd: copy, env, stdio: 'ignore', timeout: 200_000 }
  return spawnSync(process.execPath, [jest, '--maxWorkers=1', '--bail', test], options).status !== 0
}
