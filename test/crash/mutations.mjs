// Introduces known defects, one at a time, and reports what the crash test says of each: the table in docs/crash-matrix.md.
//   node test/crash/mutations.mjs [--inbox sqlite] [--kills 36] [--only words] [--check]
// Each defect is made in a copy of the sources. Where the crash test passes, one of the tests that the list names must fail,
// which passes without the defect. With SQLite the processes are killed at all steps, `--kills` times. With PostgreSQL, where
// each step has a server of its own, they are killed at the step that the list names, a sixth of `--kills` times. `--check` only says whether the sources still have
// what each defect changes.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildSync } from 'esbuild'
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
const root = fileURLToPath(new URL('../..', import.meta.url))
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
  const copy = mutated(mutation)
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

/** A copy of the project with the defect. */
function mutated(mutation) {
  const copy = mkdtempSync(join(tmpdir(), 'countersign-mutation-'))
  for (const part of ['src', 'test', 'fixtures', 'docs', 'package.json', 'jest.config.ts'])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const [file, text] of mutatedTexts(mutation)) writeFileSync(join(copy, 'src', file), text)
  const sources = readdirSync(join(copy, 'src'), { recursive: true }).filter((name) => name.endsWith('.ts'))
  buildSync({
    entryPoints: sources.map((name) => join(copy, 'src', name)),
    outbase: join(copy, 'src'),
    outdir: join(copy, 'dist'),
    format: 'cjs',
    platform: 'node',
    target: 'es2022',
    logLevel: 'error',
  })
  writeFileSync(join(copy, 'dist/package.json'), '{"type":"commonjs"}')
  return copy
}

/** The sources that the defect changes, by their names. */
function mutatedTexts({ defect, changes }) {
  const texts = new Map()
  for (const [file, before, after] of changes) {
    const text = texts.get(file) ?? readFileSync(join(root, 'src', file), 'utf8')
    if (text.split(before).length !== 2)
      throw new Error(`${defect}: ${file} does not have this once: ${before}`)
    texts.set(
      file,
      text.replace(before, () => after),
    )
  }
  return texts
}

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
  if (!soundTests.has(test)) soundTests.set(test, !fails(root, test))
  return soundTests.get(test)
}

function fails(copy, test) {
  const jest = join(root, 'node_modules/jest/bin/jest.js')
  const env = { ...process.env, TESTS: 'quick and system' }
  const options = { cwd: copy, env, stdio: 'ignore', timeout: 200_000 }
  return spawnSync(process.execPath, [jest, '--maxWorkers=1', '--bail', test], options).status !== 0
}
